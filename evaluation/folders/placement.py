"""Moves of a mask in space: turned, padded or resampled onto the grid of another.

Axes: X Y Z voxels.
"""

from dataclasses import replace

import numpy as np

from medfed.errors import BadFile
from medfed.evaluation.mask_files import Mask

__all__ = [
    "apart_mm", "corners_of", "padded_together", "resampled", "same_place", "turned_onto",
]  # fmt: skip

SAME = (
    0.05  # of the smallest voxel edge, at every corner: rounding in headers stays below a hundredth
)


def placed(mask: Mask) -> np.ndarray:
    """The affine of a mask that has one.

    Raises:
        BadFile: it has none.
    """
    if mask.affine is None:
        raise BadFile("a mask without orientation cannot be moved in space.")
    return mask.affine


def corners_of(shape: tuple[int, ...]) -> np.ndarray:
    """(4, 8) voxel indices of the corners, homogeneous."""
    ends = [(0, size - 1) for size in (*shape, 1, 1)[:3]]
    grid = np.array(np.meshgrid(*ends, indexing="ij")).reshape(3, -1)
    return np.vstack([grid, np.ones(grid.shape[1])])


def same_place(pred: Mask, ref: Mask) -> bool:
    """Whether two masks have one shape and their corners lie together."""
    if pred.array.shape != ref.array.shape:
        return False
    corners = corners_of(ref.array.shape)
    return apart_mm(placed(pred), placed(ref), corners) <= SAME * min(ref.spacing_mm or (1.0,))


def apart_mm(one: np.ndarray, other: np.ndarray, corners: np.ndarray) -> float:
    """How far the corners of two affines lie apart at most."""
    difference = one @ corners - other @ corners
    return float(np.sqrt((difference[:3] ** 2).sum(axis=0)).max())


def turned_onto(pred: Mask, ref: Mask) -> Mask | None:
    """The prediction with axes in the reference's order and direction; None where none fits."""
    n = ref.array.ndim
    between = (np.linalg.inv(placed(ref)) @ placed(pred))[:n, :n]
    signs = np.rint(between)
    whole = np.abs(signs).sum(axis=0).max() == np.abs(signs).sum(axis=1).max() == 1
    if (
        not whole
        or np.abs(np.abs(signs).sum(axis=0) - 1).any()
        or np.abs(between - signs).max() > SAME
    ):
        return None
    order = [int(np.flatnonzero(signs[axis])[0]) for axis in range(n)]
    array, affine = pred.array.transpose(order), np.array(placed(pred))
    affine[:, :n] = affine[:, order]
    for axis, source in enumerate(order):
        if signs[axis, source] < 0:
            array = np.flip(array, axis)
            affine[:, 3] += affine[:, axis] * (array.shape[axis] - 1)
            affine[:, axis] *= -1
    spacing = None if pred.spacing_mm is None else tuple(pred.spacing_mm[axis] for axis in order)
    return replace(pred, array=array, affine=affine, spacing_mm=spacing)


def padded_together(pred: Mask, ref: Mask) -> tuple[Mask, Mask]:
    """Files of stored slices only are padded with background to the extent of both."""
    if not (pred.sparse or ref.sparse) or pred.array.ndim != 3 or ref.array.ndim != 3:
        return pred, ref
    turned = turned_onto(pred, ref)
    if turned is None:
        return pred, ref
    shift = (np.linalg.inv(placed(ref)) @ placed(turned))[:3, 3]
    offset = np.rint(shift).astype(int)
    if np.abs(shift - offset).max() > SAME:
        return pred, ref
    ends = np.array(turned.array.shape) + offset
    low = np.minimum(offset, 0) if ref.sparse else np.zeros(3, int)
    high = np.maximum(ends, ref.array.shape) if ref.sparse else np.array(ref.array.shape)
    if not turned.sparse and ((low < offset) | (high > ends)).any():
        low, high = offset, ends  # a whole volume says how far the grid goes
    return _placed(turned, offset - low, high - low), _placed(ref, -low, high - low)


def _placed(mask: Mask, start: np.ndarray, shape: np.ndarray) -> Mask:
    """The mask inside a larger or smaller box; content outside it is an error."""
    if not start.any() and tuple(shape) == mask.array.shape:
        return mask
    into = tuple(
        slice(max(s, 0), min(s + size, int(n)))
        for s, size, n in zip(start.tolist(), mask.array.shape, shape, strict=True)
    )
    source = tuple(
        slice(i.start - s, i.stop - s) for i, s in zip(into, start.tolist(), strict=True)
    )
    if any(piece.stop <= piece.start for piece in source):
        raise BadFile("the prediction and the reference do not overlap in space.")
    whole = np.zeros(shape, mask.array.dtype)
    whole[into] = mask.array[source]
    if np.count_nonzero(whole) != np.count_nonzero(mask.array):
        raise BadFile("a segmentation reaches beyond the grid of the other file.")
    affine = np.array(placed(mask))
    affine[:3, 3] -= affine[:3, :3] @ start
    return replace(mask, array=whole, affine=affine)


def resampled(pred: Mask, ref: Mask) -> Mask:
    """Each voxel of the reference takes the nearest voxel of the prediction, or background."""
    matrix = (np.linalg.inv(placed(pred)) @ placed(ref)).astype(np.float64)
    n = ref.array.ndim
    from scipy.ndimage import affine_transform

    array = pred.array.view(np.uint8) if pred.array.dtype == np.bool_ else pred.array
    values = affine_transform(
        array, matrix[:n, :n], matrix[:n, 3], ref.array.shape,
        order=0, mode="grid-constant", cval=0,
    )  # fmt: skip
    return Mask(values, ref.spacing_mm, placed(ref), notes=pred.notes)
