"""ROC curves as points.

Axes: M cases, P points of a curve.
"""

import numpy as np

__all__ = ["MOST_POINTS", "roc_points"]

MOST_POINTS = 160  # finer than a panel of 200 pixels can show


def roc_points(scores: np.ndarray, labels: np.ndarray) -> np.ndarray | None:
    """The ROC curve, or None where one class alone is known.

    Cases with one score move the curve in one straight step, so ties cost half.

    Args:
        scores: (M,), higher means more likely; nan for no answer, left out.
        labels: (M,) 1 positive, 0 negative, -1 unknown, left out.

    Returns:
        (P, 2) false and true positive rate, from (0, 0) to (1, 1).

    >>> roc_points(np.array([0.9, 0.1]), np.array([1, 0])).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    """
    known = (labels >= 0) & ~np.isnan(scores)
    scores, positive = scores[known], labels[known] == 1
    if positive.all() or not positive.any():
        return None
    falling = np.argsort(-scores, kind="stable")
    last_of_tie = np.append(np.diff(scores[falling]) != 0, True)
    hits = np.cumsum(positive[falling])[last_of_tie] / positive.sum()
    alarms = np.cumsum(~positive[falling])[last_of_tie] / (~positive).sum()
    curve = np.column_stack([np.append(0.0, alarms), np.append(0.0, hits)])
    return _thinned(_without_straight(curve))


def _without_straight(curve: np.ndarray) -> np.ndarray:
    """Drop points that lie on the line between their neighbours; the picture stays the same."""
    step = np.diff(curve, axis=0)
    turns = step[:-1, 0] * step[1:, 1] != step[:-1, 1] * step[1:, 0]
    kept: np.ndarray = curve[np.concatenate([[True], turns, [True]])]
    return kept


def _thinned(curve: np.ndarray) -> np.ndarray:
    if len(curve) <= MOST_POINTS:
        return curve
    chosen = np.unique(np.linspace(0, len(curve) - 1, MOST_POINTS).round().astype(int))
    kept: np.ndarray = curve[chosen]
    return kept
