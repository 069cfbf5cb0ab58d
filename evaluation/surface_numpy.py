"""Surfaces and their distances in numpy and scipy alone; the kernels' twin, with the same numbers.

Axes: D H W voxels of a field, S surface points.
"""

import numpy as np

__all__ = ["mark_surfaces", "squared_distances"]

DENSE = 0.05  # share of surface points above which a distance map costs less than a tree


def mark_surfaces(field: np.ndarray, axes: int) -> tuple[int, int, int, int, int]:
    """Sets bits 4 and 8 where bits 1 and 2 touch the background; see kernels_mask."""
    inner = np.full(field.shape, 3, np.uint8)
    for axis in range(3 - axes, 3):
        lower, upper = [slice(None)] * 3, [slice(None)] * 3
        lower[axis], upper[axis] = slice(1, None), slice(None, -1)
        inner[tuple(lower)] &= field[tuple(upper)]
        inner[tuple(upper)] &= field[tuple(lower)]
    edge = field & ~inner & 3
    field |= edge << 2
    counts = np.bincount(field.ravel(), minlength=16)
    with_bits = [
        int(counts[[c for c in range(16) if c & bits == bits]].sum()) for bits in (3, 1, 2, 4, 8)
    ]
    return with_bits[0], with_bits[1], with_bits[2], with_bits[3], with_bits[4]


def squared_distances(
    field: np.ndarray, own: int, other: int, spacing_mm: tuple[float, ...]
) -> np.ndarray:
    """(S,) squared millimetres from each point of one surface to the other, in scan order."""
    from scipy.ndimage import distance_transform_edt
    from scipy.spatial import cKDTree

    points, others = (field & own) != 0, (field & other) != 0
    if np.count_nonzero(others) > DENSE * others.size:
        return np.asarray(distance_transform_edt(~others, sampling=spacing_mm)[points] ** 2)
    tree = cKDTree(np.argwhere(others) * spacing_mm)
    return np.asarray(tree.query(np.argwhere(points) * spacing_mm)[0] ** 2)
