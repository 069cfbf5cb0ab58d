"""Points of objects and distances of object pairs, compiled; objects_numpy.py is the numpy twin.

Axes: N points and E edge points of an object, M pairs.
"""

import numpy as np
from numba import njit

__all__ = ["grouped", "pair_squares"]

Lists = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@njit(cache=True)
def pair_squares(
    first: Lists,
    second: Lists,
    numbers: np.ndarray,
    other_numbers: np.ndarray,
    shape: np.ndarray,
    spacing_mm: np.ndarray,
) -> np.ndarray:
    """(M,) squared millimetres of each pair; arguments as in the numpy twin."""
    squares = np.empty(len(numbers))
    for pair in range(len(numbers)):
        a, b = numbers[pair], other_numbers[pair]
        farthest = _directed(first, a, second, b, shape, spacing_mm, 0.0)
        squares[pair] = _directed(second, b, first, a, shape, spacing_mm, farthest)
    return squares


@njit(cache=True)
def _directed(
    one: Lists,
    a: int,
    other: Lists,
    b: int,
    shape: np.ndarray,
    spacing_mm: np.ndarray,
    farthest: float,
) -> float:
    """The larger of `farthest` and the squared distance from object a to object b.

    A point in both objects is at distance 0. Any other one is nearest to an edge point of b, and the
    edge point that settled its neighbour is tried first: it mostly settles this one too.
    """
    places, starts = one[0], one[1]
    other_places, other_starts = other[0], other[1]
    edges = other[2][other[3][b] : other[3][b + 1]]
    shared, last_shared = other_starts[b], other_starts[b + 1]
    witness = 0
    for n in range(starts[a], starts[a + 1]):
        place = places[n]
        while shared < last_shared and other_places[shared] < place:
            shared += 1
        if shared < last_shared and other_places[shared] == place:
            continue
        row = place // shape[2]
        d, h = row // shape[1] * spacing_mm[0], row % shape[1] * spacing_mm[1]
        w = place % shape[2] * spacing_mm[2]
        nearest = np.inf
        for step in range(len(edges)):
            e = witness + step
            if e >= len(edges):
                e -= len(edges)
            square = (d - edges[e, 0]) ** 2 + (h - edges[e, 1]) ** 2 + (w - edges[e, 2]) ** 2
            if square < nearest:
                nearest = square
                if nearest <= farthest:
                    witness = e
                    break
        farthest = max(farthest, nearest)
    return farthest


@njit(cache=True)
def grouped(
    labels: np.ndarray, ids: np.ndarray, axes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of every object, object after object; see the numpy twin."""
    depth, height, width = labels.shape
    starts = np.zeros(len(ids) + 1, np.int64)
    number = 0
    for value in labels.ravel():
        if value != 0:
            number = _number(ids, value, number)
            starts[number + 1] += 1
    for n in range(len(ids)):
        starts[n + 1] += starts[n]
    places, on_edge = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.bool_)
    ahead = starts.copy()
    for d in range(depth):
        for h in range(height):
            for w in range(width):
                value = labels[d, h, w]
                if value == 0:
                    continue
                number = _number(ids, value, number)
                inside = 0 < w < width - 1 and labels[d, h, w - 1] == value == labels[d, h, w + 1]
                if inside and axes > 1:
                    inside = (
                        0 < h < height - 1 and labels[d, h - 1, w] == value == labels[d, h + 1, w]
                    )
                if inside and axes > 2:
                    inside = (
                        0 < d < depth - 1 and labels[d - 1, h, w] == value == labels[d + 1, h, w]
                    )
                places[ahead[number]] = (d * height + h) * width + w
                on_edge[ahead[number]] = not inside
                ahead[number] += 1
    return places, starts, on_edge


@njit(cache=True, inline="always")
def _number(ids: np.ndarray, value: int, last: int) -> int:
    """Place of an id in the rising list; the last one is tried first."""
    return last if ids[last] == value else np.searchsorted(ids, value)
