"""Compiled passes over masks. Axes: D H W voxels; a field is a mask pair as bits, padded by one."""

import numpy as np
from numba import njit

__all__ = ["bounds", "fill_field", "mark_surfaces"]


@njit(cache=True)
def bounds(mask: np.ndarray) -> tuple[int, int, int, int, int, int]:
    """First and last place of foreground along each axis; last below first where there is none.

    Args:
        mask: (D, H, W) unsigned, C-contiguous.
    """
    depth, height, width = mask.shape
    zero = mask.dtype.type(0)
    low = np.array([depth, height, width])
    high = np.array([-1, -1, -1])
    for d in range(depth):
        for h in range(height):
            row = mask[d, h]
            filled = zero
            for w in range(width):  # no branch: the compiler turns this into wide ors
                filled |= row[w]
            if filled == zero:
                continue
            low[0], high[0] = min(low[0], d), d
            low[1], high[1] = min(low[1], h), max(high[1], h)
            for w in range(low[2]):
                if row[w] != zero:
                    low[2] = w
                    break
            for w in range(width - 1, high[2], -1):
                if row[w] != zero:
                    high[2] = w
                    break
    return low[0], high[0], low[1], high[1], low[2], high[2]


@njit(cache=True)
def fill_field(pred: np.ndarray, ref: np.ndarray, starts: np.ndarray, field: np.ndarray) -> None:
    """Writes bit 1 (prediction) and bit 2 (reference) of a box into the inside of a field.

    Args:
        pred: (D, H, W) unsigned, C-contiguous, the whole image.
        ref: same shape and layout.
        starts: (3,) first place of the box along each axis.
        field: a view of the field without its border.
    """
    depth, height, width = field.shape
    for d in range(depth):
        for h in range(height):
            row = field[d, h]
            first = pred[d + starts[0], h + starts[1], starts[2] : starts[2] + width]
            second = ref[d + starts[0], h + starts[1], starts[2] : starts[2] + width]
            for w in range(width):
                row[w] = np.uint8(first[w] != 0) | (np.uint8(second[w] != 0) << np.uint8(1))


@njit(cache=True)
def mark_surfaces(field: np.ndarray, axes: int) -> tuple[int, int, int, int, int]:
    """Sets bits 4 and 8 where bits 1 (prediction) and 2 (reference) touch the background.

    Args:
        field: (D, H, W) uint8 with a border of zeros along each axis that counts; changed in place.
        axes: how many of the last axes count: 2 for an image.

    Returns:
        Voxels of both, of the prediction, of the reference, and surface voxels of each.
    """
    depth, height, width = field.shape
    inner = np.empty(width, np.uint8)
    counts = np.zeros(5, np.int64)
    margin_d, margin_h = int(axes > 2), int(axes > 1)
    for d in range(margin_d, depth - margin_d):
        for h in range(margin_h, height - margin_h):
            row = field[d, h]
            filled = np.uint8(0)
            for w in range(width):
                filled |= row[w]
            if filled == 0:
                continue
            for w in range(1, width - 1):
                inner[w] = row[w] & row[w - 1] & row[w + 1]
            if axes > 1:
                _keep_common(inner, field[d, h - 1], field[d, h + 1])
            if axes > 2:
                _keep_common(inner, field[d - 1, h], field[d + 1, h])
            _mark_row(row, inner, counts)
    return counts[0], counts[1], counts[2], counts[3], counts[4]


@njit(cache=True, inline="always")
def _keep_common(inner: np.ndarray, one: np.ndarray, other: np.ndarray) -> None:
    for w in range(1, len(inner) - 1):
        inner[w] &= one[w] & other[w]


@njit(cache=True, inline="always")
def _mark_row(row: np.ndarray, inner: np.ndarray, counts: np.ndarray) -> None:
    both = pred = ref = pred_surface = ref_surface = np.int32(0)
    for w in range(1, len(row) - 1):
        bits = row[w] & np.uint8(3)
        edge = bits & ~inner[w]
        row[w] = bits | (edge << np.uint8(2))
        both += np.int32((bits >> np.uint8(1)) & bits)
        pred += np.int32(bits & np.uint8(1))
        ref += np.int32(bits >> np.uint8(1))
        pred_surface += np.int32(edge & np.uint8(1))
        ref_surface += np.int32(edge >> np.uint8(1))
    counts[0] += both
    counts[1] += pred
    counts[2] += ref
    counts[3] += pred_surface
    counts[4] += ref_surface
