"""Multi-label classification scores that leave unknown labels out.

Axes: N cases, C labels, R resamples.
"""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from medfed.errors import DataError
from medfed.evaluation.bootstrap import resample_counts

__all__ = ["Auroc", "AurocIntervals", "auroc", "bootstrap_auroc"]

Uncertain = Literal["ignore", "zeros", "ones"]


@dataclass(frozen=True, slots=True, eq=False)
class Auroc:
    """Area under the ROC curve.

    Args:
        per_label: (C,) nan where only one class is known.
        macro: mean over the labels that have a value.
        positives: (C,) known positives.
        negatives: (C,) known negatives.
        undefined: labels left out of the macro mean.
    """

    per_label: np.ndarray
    macro: float
    positives: np.ndarray
    negatives: np.ndarray
    undefined: int


@dataclass(frozen=True, slots=True, eq=False)
class AurocIntervals:
    """Percentile bootstrap intervals; nan where undefined."""

    low: np.ndarray
    high: np.ndarray
    macro_low: float
    macro_high: float


def auroc(scores: np.ndarray, targets: np.ndarray, *, uncertain: Uncertain = "ignore") -> Auroc:
    """Mann-Whitney AUROC with ties counted half.

    Args:
        scores: (N,) or (N, C), higher means more likely.
        targets: same shape: 1, 0, nan for not labelled, -1 for uncertain.
        uncertain: what -1 becomes.

    Raises:
        DataError: shapes differ, a target has another value, or a labelled case has a score of nan.

    >>> float(auroc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1])).macro)
    0.75
    """
    values, truth = _checked(scores, targets, uncertain)
    every = np.ones((1, len(values)))
    areas = np.array([_areas(values[:, c], truth[:, c], every)[0] for c in range(values.shape[1])])
    positives, negatives = (truth == 1).sum(axis=0), (truth == 0).sum(axis=0)
    return Auroc(areas, _mean(areas), positives, negatives, int(np.isnan(areas).sum()))


def bootstrap_auroc(
    scores: np.ndarray,
    targets: np.ndarray,
    *,
    patients: np.ndarray | None = None,
    n: int = 1_000,
    seed: int = 0,
    alpha: float = 0.05,
    uncertain: Uncertain = "ignore",
) -> AurocIntervals:
    """Intervals of each label's AUROC and of their mean, resampling patients.

    A resample in which a label has one class only is left out of that label's interval; the mean is
    over the labels that every resample can score as far as it can.

    Args:
        scores: (N,) or (N, C).
        targets: same shape, as for `auroc`.
        patients: (N,) patient of each case; each case is its own without.
        n: resamples.
        seed: of the draw.
        alpha: 1 minus the level of confidence.
        uncertain: what -1 becomes.
    """
    values, truth = _checked(scores, targets, uncertain)
    times = resample_counts(np.arange(len(values)) if patients is None else np.asarray(patients), n=n, seed=seed)
    areas = np.stack([_areas(values[:, c], truth[:, c], times) for c in range(values.shape[1])], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a label that no resample can score stays nan
        low, high = np.nanquantile(areas, [alpha / 2, 1 - alpha / 2], axis=0)
        means = np.nanmean(areas, axis=1)
        macro_low, macro_high = np.nanquantile(means, [alpha / 2, 1 - alpha / 2])
    return AurocIntervals(low, high, float(macro_low), float(macro_high))


def _areas(scores: np.ndarray, truth: np.ndarray, times: np.ndarray) -> np.ndarray:
    """(R,) AUROC of one label when case i counts times[r, i]."""
    known = ~np.isnan(truth)
    if not known.any():
        return np.full(len(times), np.nan)
    order = np.argsort(scores[known], kind="stable")
    ranked, labels = scores[known][order], truth[known][order]
    counts = np.asarray(times, np.float64)[:, known][:, order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    positive = np.add.reduceat(counts * labels, starts, axis=1)
    negative = np.add.reduceat(counts * (1 - labels), starts, axis=1)
    below = np.cumsum(negative, axis=1) - negative
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    won = (positive * (below + negative / 2)).sum(axis=1)
    return np.divide(won, pairs, out=np.full(len(times), np.nan), where=pairs > 0)


def _checked(scores: np.ndarray, targets: np.ndarray, uncertain: Uncertain) -> tuple[np.ndarray, np.ndarray]:
    values, truth = np.asarray(scores, np.float64), np.array(targets, np.float64)
    if values.shape != truth.shape or values.ndim not in (1, 2):
        raise DataError(f"scores have shape {values.shape} and targets {truth.shape}; both must be (N,) or (N, C).")
    values, truth = values.reshape(len(values), -1), truth.reshape(len(truth), -1)
    truth[truth == -1] = {"ignore": np.nan, "zeros": 0.0, "ones": 1.0}[uncertain]
    wrong = truth[~np.isnan(truth) & (truth != 0) & (truth != 1)]
    if wrong.size:
        raise DataError(f"targets hold {wrong[0]}; allowed are 1, 0, -1 (uncertain) and nan (not labelled).")
    if (np.isnan(values) & ~np.isnan(truth)).any():
        raise DataError("a labelled case has a score of nan; score it or mark its target nan.")
    return values, truth


def _mean(areas: np.ndarray) -> float:
    return float("nan") if np.isnan(areas).all() else float(np.nanmean(areas))
