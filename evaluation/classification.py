"""Ranking scores of multi-label classifiers; cases without a label are left out, and counted.

Axes: N cases, C labels, M known cases of one label, P points of a curve.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from medfed.evaluation.checks import InputError, checked_choice
from medfed.evaluation.label_scores import LabelColumns, LabelScores, Uncertain, label_columns

__all__ = ["Curve", "auprc", "auroc", "pr_curve", "roc_curve", "sensitivity_at_specificity"]


@dataclass(frozen=True, slots=True)
class Curve:
    """Points of a curve, one a distinct score, from the strictest threshold on.

    Attributes:
        x: (P,) false positive rate (ROC) or recall (PR).
        y: (P,) true positive rate (ROC) or precision (PR).
        thresholds: (P,) a case is called positive at or above it; inf at the first point.
    """

    x: np.ndarray
    y: np.ndarray
    thresholds: np.ndarray


def auroc(scores: Any, targets: Any, *, uncertain: Uncertain = "ignore") -> LabelScores:  # noqa: ANN401
    """Area under the ROC curve: the chance that a positive outranks a negative, ties counting half.

    A label with one class only is nan; the macro mean leaves it out and `undefined` counts it.

    Args:
        scores: (N,) or (N, C), higher means more likely; any finite numbers.
        targets: same shape: 1, 0, nan for not labelled, -1 for uncertain.
        uncertain: leave uncertain cases out, or count them as negative (zeros) or positive (ones).

    Raises:
        InputError: shapes differ, or a labelled case has no finite score.

    Source: Mann-Whitney U; Hanley and McNeil 1982.

    >>> auroc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]).macro
    0.75
    """
    return _scored(label_columns(scores, targets, uncertain=uncertain), _auroc)


def auprc(
    scores: Any,  # noqa: ANN401
    targets: Any,  # noqa: ANN401
    *,
    uncertain: Uncertain = "ignore",
    definition: Literal["average_precision", "trapezoid"] = "average_precision",
) -> LabelScores:
    """Area under the precision-recall curve.

    A label with one class only is nan.

    Args:
        scores: (N,) or (N, C), higher means more likely.
        targets: same shape: 1, 0, nan for not labelled, -1 for uncertain.
        uncertain: as in auroc.
        definition: `average_precision` sums precision over steps of recall and is not optimistic;
            `trapezoid` joins the points with lines.

    Raises:
        InputError: shapes differ, or a labelled case has no finite score.

    >>> round(auprc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]).macro, 4)
    0.8333
    """
    checked_choice(definition, ("average_precision", "trapezoid"), "definition")
    area = _average_precision if definition == "average_precision" else _pr_trapezoid
    return _scored(label_columns(scores, targets, uncertain=uncertain), area)


def sensitivity_at_specificity(
    scores: Any,  # noqa: ANN401
    targets: Any,  # noqa: ANN401
    *,
    specificity: float = 0.9,
    uncertain: Uncertain = "ignore",
) -> LabelScores:
    """The highest sensitivity of any threshold whose specificity is at least the one asked for.

    Nothing is interpolated: the threshold exists and is returned in `thresholds`.

    Args:
        scores: (N,) or (N, C), higher means more likely.
        targets: same shape: 1, 0, nan for not labelled, -1 for uncertain.
        specificity: in [0, 1].
        uncertain: as in auroc.

    Raises:
        InputError: shapes differ, specificity outside [0, 1], or a labelled case has no score.
    """
    if not 0 <= specificity <= 1:
        raise InputError(f"specificity={specificity} must lie in [0, 1].")
    columns = label_columns(scores, targets, uncertain=uncertain)
    points = [_operating_point(*columns.column(c), specificity) for c in _labels(columns)]
    found = np.array(points, dtype=np.float64).reshape(-1, 2)
    return LabelScores(found[:, 0], columns, thresholds=found[:, 1])


def roc_curve(scores: Any, targets: Any, *, uncertain: Uncertain = "ignore") -> Curve:  # noqa: ANN401
    """The ROC curve of one label, from (0, 0) to (1, 1); nan rates where a class is absent.

    Args:
        scores: (N,) numbers.
        targets: (N,) 1, 0, nan for not labelled, -1 for uncertain.
        uncertain: as in auroc.
    """
    hits, alarms, thresholds = _counts(*_one(label_columns(scores, targets, uncertain=uncertain)))
    return Curve(
        _share(np.append(0, alarms)), _share(np.append(0, hits)), np.append(np.inf, thresholds)
    )


def pr_curve(scores: Any, targets: Any, *, uncertain: Uncertain = "ignore") -> Curve:  # noqa: ANN401
    """The precision-recall curve of one label; its first point is recall 0 at precision 1.

    Args:
        scores: (N,) numbers.
        targets: (N,) 1, 0, nan for not labelled, -1 for uncertain.
        uncertain: as in auroc.
    """
    hits, alarms, thresholds = _counts(*_one(label_columns(scores, targets, uncertain=uncertain)))
    return Curve(
        _share(np.append(0, hits)),
        np.append(1.0, hits / (hits + alarms)),
        np.append(np.inf, thresholds),
    )


def _labels(columns: LabelColumns) -> range:
    return range(columns.scores.shape[1])


def _scored(columns: LabelColumns, score: Callable[[np.ndarray, np.ndarray], float]) -> LabelScores:
    values = [score(*columns.column(c)) for c in _labels(columns)]
    return LabelScores(np.array(values, dtype=np.float64), columns)


def _one(columns: LabelColumns) -> tuple[np.ndarray, np.ndarray]:
    if columns.scores.shape[1] != 1:
        raise InputError("a curve is drawn for one label: give (cases,) arrays.")
    return columns.column(0)


def _one_class(positive: np.ndarray) -> bool:
    return bool(positive.all() or not positive.any())


def _auroc(scores: np.ndarray, positive: np.ndarray) -> float:
    if _one_class(positive):
        return float("nan")
    hits, alarms, _ = _counts(scores, positive)
    won = np.diff(alarms, prepend=0) * (2 * np.append(0, hits[:-1]) + np.diff(hits, prepend=0))
    return float(won.sum() / (2 * int(hits[-1]) * int(alarms[-1])))


def _average_precision(scores: np.ndarray, positive: np.ndarray) -> float:
    if _one_class(positive):
        return float("nan")
    hits, alarms, _ = _counts(scores, positive)
    return float((np.diff(hits, prepend=0) * (hits / (hits + alarms))).sum() / hits[-1])


def _pr_trapezoid(scores: np.ndarray, positive: np.ndarray) -> float:
    if _one_class(positive):
        return float("nan")
    hits, alarms, _ = _counts(scores, positive)
    recall, precision = np.append(0, hits / hits[-1]), np.append(1.0, hits / (hits + alarms))
    return float(np.trapezoid(precision, recall))


def _operating_point(
    scores: np.ndarray, positive: np.ndarray, specificity: float
) -> tuple[float, float]:
    if _one_class(positive):
        return float("nan"), float("nan")
    hits, alarms, thresholds = _counts(scores, positive)
    # 1 - a / n is compared as a count, so that a specificity that is met exactly is not lost.
    allowed = np.floor((1 - specificity) * alarms[-1] + 1e-9)
    met = np.flatnonzero(alarms <= allowed)
    if not met.size:
        return 0.0, float("inf")
    best = int(np.searchsorted(hits, hits[met[-1]]))
    return float(hits[best] / hits[-1]), float(thresholds[best])


def _counts(scores: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True and false positives at or above each distinct score, from the highest: (P,) int64."""
    falling = np.argsort(-scores, kind="stable")
    ranked = scores[falling]
    last_of_tie = np.flatnonzero(np.append(np.diff(ranked) != 0, True)[: ranked.size])
    hits = np.cumsum(positive[falling], dtype=np.int64)[last_of_tie]
    return hits, last_of_tie + 1 - hits, ranked[last_of_tie]


def _share(counts: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray(counts / counts[-1])
