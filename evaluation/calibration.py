"""How far probabilities can be taken at their word.

Axes: N cases, C labels, B bins of probability.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from medfed.evaluation.checks import InputError, checked_choice
from medfed.evaluation.label_scores import LabelScores, Uncertain, label_columns

__all__ = ["Reliability", "brier", "calibration_error", "reliability_curve"]

BINS = 15  # Guo et al. 2017 and most tables since


@dataclass(frozen=True, slots=True)
class Reliability:
    """A reliability diagram; empty bins are nan.

    Attributes:
        edges: (B + 1,) borders of the bins; a bin holds its lower border, the last one both.
        predicted: (B,) mean probability.
        observed: (B,) share of positives.
        cases: (B,) int64.
    """

    edges: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray
    cases: np.ndarray


def brier(scores: Any, targets: Any, *, uncertain: Uncertain = "ignore") -> LabelScores:  # noqa: ANN401
    """Mean squared difference between probability and outcome, a label; nan without known cases.

    Args:
        scores: (N,) or (N, C) probabilities.
        targets: same shape: 1, 0, nan for not labelled, -1 for uncertain.
        uncertain: leave uncertain cases out, or count them as negative (zeros) or positive (ones).

    Raises:
        InputError: shapes differ, or a labelled case's score is no probability.

    Source: Brier 1950.

    >>> round(brier([0.9, 0.2], [1, 0]).macro, 6)
    0.025
    """
    columns = label_columns(scores, targets, uncertain=uncertain, probabilities=True)
    values = []
    for c in range(columns.scores.shape[1]):
        probabilities, positive = columns.column(c)
        squares = (probabilities - positive) ** 2
        values.append(squares.mean() if squares.size else np.nan)
    return LabelScores(np.array(values, dtype=np.float64), columns)


def calibration_error(
    scores: Any,  # noqa: ANN401
    targets: Any,  # noqa: ANN401
    *,
    bins: int = BINS,
    norm: Literal["mean", "root_mean_square", "largest"] = "mean",
    uncertain: Uncertain = "ignore",
) -> LabelScores:
    """Gap between stated probability and observed share, over bins of equal width.

    The default is the expected calibration error: the mean gap, weighted by cases.

    Args:
        scores: (N,) or (N, C) probabilities of the positive class.
        targets: same shape: 1, 0, nan for not labelled, -1 for uncertain.
        bins: how many bins [0, 1] is cut into.
        norm: how gaps become one number.
        uncertain: as in brier.

    Raises:
        InputError: shapes differ, no bins, or a labelled case's score is no probability.

    Source: Naeini et al. 2015; Guo et al. 2017, eq. 3 and 5.
    """
    checked_choice(norm, ("mean", "root_mean_square", "largest"), "norm")
    columns = label_columns(scores, targets, uncertain=uncertain, probabilities=True)
    values = []
    for c in range(columns.scores.shape[1]):
        diagram = _reliability(*columns.column(c), bins)
        values.append(_gap(diagram, norm) if diagram.cases.any() else np.nan)
    return LabelScores(np.array(values, dtype=np.float64), columns)


def reliability_curve(
    scores: Any,  # noqa: ANN401
    targets: Any,  # noqa: ANN401
    *,
    bins: int = BINS,
    uncertain: Uncertain = "ignore",
) -> Reliability:
    """The reliability diagram of one label.

    Args:
        scores: (N,) probabilities.
        targets: (N,) 1, 0, nan for not labelled, -1 for uncertain.
        bins: how many bins [0, 1] is cut into.
        uncertain: as in brier.
    """
    columns = label_columns(scores, targets, uncertain=uncertain, probabilities=True)
    if columns.scores.shape[1] != 1:
        raise InputError("a curve is drawn for one label: give (cases,) arrays.")
    return _reliability(*columns.column(0), bins)


def _reliability(probabilities: np.ndarray, positive: np.ndarray, bins: int) -> Reliability:
    if bins < 1:
        raise InputError(f"bins={bins} must be at least 1.")
    edges = np.linspace(0, 1, bins + 1)
    place = np.minimum(np.searchsorted(edges, probabilities, side="right") - 1, bins - 1)
    cases = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        predicted = np.bincount(place, weights=probabilities, minlength=bins) / cases
        observed = np.bincount(place, weights=positive, minlength=bins) / cases
    return Reliability(edges, predicted, observed, cases)


def _gap(diagram: Reliability, norm: str) -> float:
    filled = diagram.cases > 0
    gaps = np.abs(diagram.predicted - diagram.observed)[filled]
    weights = diagram.cases[filled] / diagram.cases.sum()
    if norm == "largest":
        return float(gaps.max())
    if norm == "mean":
        return float((weights * gaps).sum())
    return float(np.sqrt((weights * gaps**2).sum()))
