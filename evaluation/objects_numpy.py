"""Points of objects and distances of object pairs, in numpy; kernels_objects.py is the compiled twin."""

import numpy as np

__all__ = ["grouped", "pair_squares"]

Lists = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def pair_squares(
    first: Lists,
    second: Lists,
    numbers: np.ndarray,
    other_numbers: np.ndarray,
    shape: np.ndarray,
    spacing_mm: np.ndarray,
) -> np.ndarray:
    """(M,) squared millimetres of each pair.

    Args:
        first: places, starts, edges and edge starts of one map's objects.
        second: the same of the other map.
        numbers: (M,) objects of the first.
        other_numbers: (M,) their partners.
        shape: (3,) of the map.
        spacing_mm: (3,) of the map.
    """
    from scipy.spatial import cKDTree

    def points(lists: Lists, number: int) -> np.ndarray:
        places = lists[0][lists[1][number] : lists[1][number + 1]]
        return np.asarray(np.stack(np.unravel_index(places, tuple(shape)), axis=1) * spacing_mm)

    squares = np.empty(len(numbers))
    for pair, (a, b) in enumerate(zip(numbers, other_numbers, strict=True)):
        one, other = points(first, a), points(second, b)
        to_other, to_one = cKDTree(other).query(one)[0], cKDTree(one).query(other)[0]
        squares[pair] = max(to_other.max(), to_one.max()) ** 2
    return squares


def grouped(
    labels: np.ndarray, ids: np.ndarray, axes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of every object, object after object.

    Args:
        labels: (D, H, W) unsigned ids.
        ids: (objects,) every id of the map, rising.
        axes: how many of the last axes count.

    Returns:
        Places in the flat map, the first point of each object (and the end), and whether a point has
        a face neighbour outside its object; beyond the image is outside.
    """
    places = np.flatnonzero(labels)
    number = np.searchsorted(ids, labels.ravel()[places])
    order = np.argsort(number, kind="stable")
    starts = np.searchsorted(number[order], np.arange(ids.size + 1))
    edge = np.zeros(labels.shape, np.bool_)
    for axis in range(3 - axes, 3):
        line, out = np.moveaxis(labels, axis, 0), np.moveaxis(edge, axis, 0)
        differs = line[1:] != line[:-1]
        out[1:] |= differs
        out[:-1] |= differs
        out[0] = out[-1] = True
    return places[order], starts, edge.ravel()[places[order]]
