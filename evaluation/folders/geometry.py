"""A prediction brought onto its reference's grid, or refused.

Flips and permutations of axes are mended with a warning, as no voxel changes its value. Anything else
is refused, or resampled by nearest neighbour where that was asked for.

Axes: X Y Z voxels.
"""

from dataclasses import dataclass, replace

import numpy as np

from medfed.errors import BadFile
from medfed.evaluation.folders.placement import (
    SAME,
    apart_mm,
    corners_of,
    padded_together,
    placed,
    resampled,
    same_place,
    turned_onto,
)
from medfed.evaluation.mask_files import Mask

__all__ = ["OnOneGrid", "on_one_grid"]


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
        pred, ref = padded_together(pred, ref)
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
    if pred.array.ndim != ref.array.ndim:
        raise BadFile(
            f"the prediction's shape {pred.array.shape} differs from the reference's {ref.array.shape}."
        )
    if same_place(pred, ref):
        return pred
    turned = turned_onto(pred, ref)
    if turned is not None and same_place(turned, ref):
        warnings.append("the prediction's axes were flipped or permuted onto the reference's")
        return turned
    if not resample:
        raise BadFile(_difference(pred, ref))
    warnings.append("the prediction was resampled onto the reference's grid (nearest neighbour)")
    return resampled(pred, ref)


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
        apart = apart_mm(placed(pred), placed(ref), corners_of(ref.array.shape))
        parts.append(f"corners up to {apart:.4g} mm apart")
    return (
        f"the prediction lies on another grid than the reference: {'; '.join(parts)}. Resample it before "
        "(best), or give --resample nearest."
    )


def _mm(spacing: tuple[float, ...] | None) -> str:
    return "unknown" if spacing is None else " x ".join(f"{edge:g}" for edge in spacing) + " mm"
