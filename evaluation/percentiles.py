"""Percentiles and means of surface distances, from their squares.

Axes: S surface points.
"""

import numpy as np

__all__ = ["mean_mm", "percentile_mm", "weighted_percentile_mm"]


def percentile_mm(squares: np.ndarray, percentile: float) -> float:
    """A percentile of distances, linearly interpolated between the two nearest ones.

    The root keeps order, so squares are ranked and two roots are drawn.

    Args:
        squares: (S,) squared millimetres, S at least 1.
        percentile: in [0, 100].
    """
    place = percentile / 100 * (squares.size - 1)
    below = min(int(place), squares.size - 1)
    part = place - below
    if below == squares.size - 1:
        return float(np.sqrt(squares.max()))
    ranked = np.partition(squares, (below, below + 1))
    low, high = np.sqrt(ranked[below : below + 2])
    return float(low + part * (high - low)) if high > low else float(low)


def weighted_percentile_mm(squares: np.ndarray, sizes: np.ndarray, percentile: float) -> float:
    """The distance below which a share of the surface's area lies; nothing is interpolated.

    Args:
        squares: (S,) squared millimetres, S at least 1.
        sizes: (S,) area of each element.
        percentile: in [0, 100].

    Source: Nikolov et al. 2021; the surface-distance package's robust Hausdorff.
    """
    order = np.argsort(squares)
    share = np.cumsum(sizes[order]) / sizes.sum()
    place = min(int(np.searchsorted(share, percentile / 100)), squares.size - 1)
    return float(np.sqrt(squares[order[place]]))


def mean_mm(squares: np.ndarray, sizes: np.ndarray | None = None) -> float:
    """Mean distance, weighted by element size where sizes are given."""
    return float(np.average(np.sqrt(squares), weights=sizes))
