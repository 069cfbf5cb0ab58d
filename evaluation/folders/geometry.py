"""A prediction brought onto its reference's grid, or refused.

Flips and permutations of axes are mended with a warning, as no voxel changes its value. Anything else
is refused, or resampled by nearest neighbour where that was asked for.

Axes: X Y Z voxels.
"""

from dataclasses import dataclass, replace

import numpy as np

from medfed.errors import BadFile
from medfed.evaluation.mask_files import Mask

__all__ = ["OnOneGrid", "on_one_grid"]

SAME = (
    0.05  # of the smallest voxel edge, at every corner: rounding in headers stays below a hundredth
)


@dataclass(frozen=True, slots=True)
class OnOneGrid:
    """Two masks of one shape.

    Attributes:
        pred: array.
        ref: array of the same shape.
        spacing_mm: one number an axis; None where neither file nor settings say it.
        warnings: what was changed or could not be compared.
    """

    pred: np.ndarray
    ref: np.ndarray
    spacing_mm: tuple[float, ...] | None
    warnings: tuple[str, ...]


def on_one_grid(
    pred: Mask,
    ref: Mask,
    *,
    resample: bool = False,
    spacing_mm: tuple[float, ...] = (),
) -> OnOneGrid:
    """Both masks on the reference's grid; axes of one voxel are dropped.

    Args:
        pred: prediction.
        ref: reference.
        resample: whether another grid is resampled instead of refused.
        spacing_mm: for files that name none.

    Raises:
        BadFile: the grids differ in a way that was not allowed to be mended.
    """
    warnings: list[str] = []
    if pred.affine is None or ref.affine is None:
        _compare_without_affine(pred, ref, warnings)
    else:
        pred, ref = _together(pred, ref)
        pred = _mended(pred, ref, resample, warnings)
    spacing = ref.spacing_mm or pred.spacing_mm or spacing_mm or None
    if spacing_mm and spacing != spacing_mm:
        warnings.append(f"the files' spacing {_mm(spacing)} is used, not the one given")
    shape = ref.array.shape
    if spacing is not None and len(spacing) != len(shape):
        raise BadFile(f"the spacing {spacing} does not fit an array of shape {shape}.")
    kept = [axis for axis, size in enumerate(shape) if size > 1]
    if len(shape) == 3 and len(kept) == 2:
        # As a volume, every voxel of a single slice would lie on the surface.
        warnings.append("one slice: scored as a 2D image")
        flat = tuple(kept)
        pred = replace(pred, array=pred.array.squeeze())
        ref = replace(ref, array=ref.array.squeeze())
        spacing = None if spacing is None else tuple(spacing[axis] for axis in flat)
    return OnOneGrid(pred.array, ref.array, spacing, tuple(warnings))


def _compare_without_affine(pred: Mask, ref: Mask, warnings: list[str]) -> None:
    if pred.array.shape != ref.array.shape:
        turned = pred.array.shape[::-1] == ref.array.shape
        advice = (
            "It looks transposed: save both with the same axis order"
            if turned
            else "Check that they belong together"
        )
        raise BadFile(
            f"the prediction's shape {pred.array.shape} differs from the reference's {ref.array.shape}. "
            f"{advice}."
        )
    if (pred.affine is None) != (ref.affine is None):
        side = "prediction" if pred.affine is None else "reference"
        warnings.append(f"the {side} names no orientation; only shapes are compared")
    one, other = pred.spacing_mm, ref.spacing_mm
    if one and other and not np.allclose(one, other, rtol=SAME):
        raise BadFile(
            f"the prediction's spacing {_mm(one)} differs from the reference's {_mm(other)}."
        )


def _mended(pred: Mask, ref: Mask, resample: bool, warnings: list[str]) -> Mask:
    assert pred.affine is not None  # noqa: S101 - the caller has checked both
    assert ref.affine is not None  # noqa: S101
    if pred.array.ndim != ref.array.ndim:
        raise BadFile(
            f"the prediction's shape {pred.array.shape} differs from the reference's {ref.array.shape}."
        )
    if _same_place(pred, ref):
        return pred
    turned = _turned(pred, ref)
    if turned is not None and _same_place(turned, ref):
        warnings.append("the prediction's axes were flipped or permuted onto the reference's")
        return turned
    if not resample:
        raise BadFile(_difference(pred, ref))
    warnings.append("the prediction was resampled onto the reference's grid (nearest neighbour)")
    return _resampled(pred, ref)


def _corners(shape: tuple[int, ...]) -> np.ndarray:
    ends = [(0, size - 1) for size in (*shape, 1, 1)[:3]]
    grid = np.array(np.meshgrid(*ends, indexing="ij")).reshape(3, -1)
    return np.vstack([grid, np.ones(grid.shape[1])])


def _same_place(pred: Mask, ref: Mask) -> bool:
    if pred.array.shape != ref.array.shape:
        return False
    corners = _corners(ref.array.shape)
    return _apart_mm(pred.affine, ref.affine, corners) <= SAME * min(ref.spacing_mm or (1.0,))


def _apart_mm(one: np.ndarray | None, other: np.ndarray | None, corners: np.ndarray) -> float:
    difference = np.asarray(one) @ corners - np.asarray(other) @ corners
    return float(np.sqrt((difference[:3] ** 2).sum(axis=0)).max())


def _turned(pred: Mask, ref: Mask) -> Mask | None:
    """The prediction with axes in the reference's order and direction; None where none fits."""
    n = ref.array.ndim
    between = (np.linalg.inv(ref.affine) @ pred.affine)[:n, :n]
    signs = np.rint(between)
    whole = np.abs(signs).sum(axis=0).max() == np.abs(signs).sum(axis=1).max() == 1
    if (
        not whole
        or np.abs(np.abs(signs).sum(axis=0) - 1).any()
        or np.abs(between - signs).max() > SAME
    ):
        return None
    order = [int(np.flatnonzero(signs[axis])[0]) for axis in range(n)]
    array, affine = pred.array.transpose(order), np.array(pred.affine)
    affine[:, :n] = affine[:, order]
    for axis, source in enumerate(order):
        if signs[axis, source] < 0:
            array = np.flip(array, axis)
            affine[:, 3] += affine[:, axis] * (array.shape[axis] - 1)
            affine[:, axis] *= -1
    spacing = None if pred.spacing_mm is None else tuple(pred.spacing_mm[axis] for axis in order)
    return replace(pred, array=array, affine=affine, spacing_mm=spacing)


def _together(pred: Mask, ref: Mask) -> tuple[Mask, Mask]:
    """Files of stored slices only are padded with background to the extent of both."""
    if not (pred.sparse or ref.sparse) or pred.array.ndim != 3 or ref.array.ndim != 3:
        return pred, ref
    turned = _turned(pred, ref)
    if turned is None:
        return pred, ref
    shift = (np.linalg.inv(ref.affine) @ turned.affine)[:3, 3]
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
    affine = np.array(mask.affine)
    affine[:3, 3] -= affine[:3, :3] @ start
    return replace(mask, array=whole, affine=affine)


def _resampled(pred: Mask, ref: Mask) -> Mask:
    """Each voxel of the reference takes the nearest voxel of the prediction, or background."""
    matrix = (np.linalg.inv(pred.affine) @ ref.affine).astype(np.float64)
    n = ref.array.ndim
    from scipy.ndimage import affine_transform

    array = pred.array.view(np.uint8) if pred.array.dtype == np.bool_ else pred.array
    values = affine_transform(
        array, matrix[:n, :n], matrix[:n, 3], ref.array.shape,
        order=0, mode="grid-constant", cval=0,
    )  # fmt: skip
    return Mask(values, ref.spacing_mm, ref.affine, notes=pred.notes)


def _difference(pred: Mask, ref: Mask) -> str:
    parts = []
    if pred.array.shape != ref.array.shape:
        parts.append(f"shape {pred.array.shape} against {ref.array.shape}")
    if (
        pred.spacing_mm
        and ref.spacing_mm
        and not np.allclose(pred.spacing_mm, ref.spacing_mm, SAME)
    ):
        parts.append(f"spacing {_mm(pred.spacing_mm)} against {_mm(ref.spacing_mm)}")
    if not parts or pred.array.shape == ref.array.shape:
        apart = _apart_mm(pred.affine, ref.affine, _corners(ref.array.shape))
        parts.append(f"corners up to {apart:.4g} mm apart")
    return (
        f"the prediction lies on another grid than the reference: {'; '.join(parts)}. Resample it before "
        "(best), or give --resample nearest."
    )


def _mm(spacing: tuple[float, ...] | None) -> str:
    return "unknown" if spacing is None else " x ".join(f"{edge:g}" for edge in spacing) + " mm"
