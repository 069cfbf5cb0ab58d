"""From two masks to the squared distances between their surfaces, by either backend.

A field is the box that holds both masks, one byte a voxel, with a border of background: bit 1 is the
prediction, bit 2 the reference, bits 4 and 8 their surfaces.

Axes: D H W voxels of a field, S surface points.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from medfed.evaluation.absence import Outcome, outcome
from medfed.evaluation.backend import compiled
from medfed.evaluation.checks import InputError, checked_spacing
from medfed.evaluation.masks import Box, mask_pair, union_box
from medfed.evaluation.surface_elements import element_codes, element_sizes

__all__ = ["Measured", "measured", "measured_elements", "squared_distances"]

PRED, REF = 4, 8
_NONE = np.empty(0)
REACH_ROWS = 200  # rows looked at around a point before it is left to the distance map


@dataclass(frozen=True, slots=True)
class Measured:
    """Counts and surface distances of one mask pair.

    Attributes:
        both: voxels in both masks.
        pred: voxels of the prediction.
        ref: voxels of the reference.
        pred_mm2: (S,) squared distance of each surface voxel of the prediction to the reference's
            surface; empty unless both have one.
        ref_mm2: (S,) the same from the reference's surface.
        pred_surface: surface voxels of the prediction.
        ref_surface: surface voxels of the reference.
        shape: of the whole image.
        spacing_mm: one number an axis.
    """

    both: int
    pred: int
    ref: int
    pred_mm2: np.ndarray
    ref_mm2: np.ndarray
    pred_surface: int
    ref_surface: int
    shape: tuple[int, ...]
    spacing_mm: tuple[float, ...]

    @property
    def outcome(self) -> Outcome:
        """The absence rule's word for this pair."""
        return outcome(self.pred, self.ref)


def measured(pred: Any, ref: Any, spacing_mm: Any = None) -> Measured:  # noqa: ANN401
    """Counts and distances of two masks, their surfaces being voxels.

    Args:
        pred: (H, W) or (D, H, W) any type, foreground is non-zero.
        ref: same shape.
        spacing_mm: one number an axis in array order; None for ones.

    Raises:
        InputError: shapes, types or spacing that cannot be scored.
    """
    shape, spacing, field, field_spacing = _opened(pred, ref, spacing_mm)
    if field is None:
        return Measured(0, 0, 0, _NONE, _NONE, 0, 0, shape, spacing)
    if compiled():
        from medfed.evaluation.kernels_mask import mark_surfaces
    else:
        from medfed.evaluation.surface_numpy import mark_surfaces  # type: ignore[assignment]
    counts = mark_surfaces(field, len(shape))
    distances = _both_ways(field, counts[3], counts[4], field_spacing)
    return Measured(*counts[:3], *distances, *counts[3:], shape, spacing)


def measured_elements(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    spacing_mm: Any = None,  # noqa: ANN401
) -> tuple[Measured, tuple[np.ndarray, np.ndarray]]:
    """Counts and distances of two masks, their surfaces being marching-cubes elements.

    Arguments as in measured.

    Returns:
        The pair, and (S,) the size of each element of the prediction and of the reference.
    """
    shape, spacing, field, field_spacing = _opened(pred, ref, spacing_mm)
    if field is None:
        return Measured(0, 0, 0, _NONE, _NONE, 0, 0, shape, spacing), (_NONE, _NONE)
    table = element_sizes(field_spacing)
    pred_codes, ref_codes = element_codes((field & 1) != 0), element_codes((field & 2) != 0)
    on_pred, on_ref = table[pred_codes] > 0, table[ref_codes] > 0
    elements = on_pred.astype(np.uint8) * np.uint8(PRED) + on_ref.astype(np.uint8) * np.uint8(REF)
    sizes = table[pred_codes[on_pred]], table[ref_codes[on_ref]]
    both, one, other = (int(np.count_nonzero((field & bits) == bits)) for bits in (3, 1, 2))
    distances = _both_ways(elements, len(sizes[0]), len(sizes[1]), field_spacing)
    pair = Measured(both, one, other, *distances, len(sizes[0]), len(sizes[1]), shape, spacing)
    return pair, sizes


def _opened(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    spacing_mm: Any,  # noqa: ANN401
) -> tuple[tuple[int, ...], tuple[float, ...], np.ndarray | None, tuple[float, ...]]:
    """The image's shape and spacing, and the field with its own spacing; no field if both are empty."""
    pred, ref = mask_pair(pred, ref)
    if not 1 <= pred.ndim <= 3:
        raise InputError(f"a mask of {pred.ndim} axes has no surface here; give one, two or three.")
    spacing = checked_spacing(spacing_mm, pred.ndim)
    box = union_box(pred, ref)
    if box is None:
        return pred.shape, spacing, None, spacing
    # In the order in which the reference lies in memory, so that rows are read and not columns.
    order = tuple(sorted(range(ref.ndim), key=lambda axis: -abs(ref.strides[axis])))
    field = _field(pred.transpose(order), ref.transpose(order), tuple(box[a] for a in order))
    return pred.shape, spacing, field, tuple(spacing[a] for a in order)


def _field(pred: np.ndarray, ref: np.ndarray, box: Box) -> np.ndarray:
    """(D, H, W) uint8: bits 1 and 2 of a box, with a border of zeros along each axis of the masks."""
    axes = pred.ndim
    sizes = tuple(side.stop - side.start for side in box)
    field = np.zeros((1,) * (3 - axes) + tuple(n + 2 for n in sizes), np.uint8)
    inside = field[(slice(None),) * (3 - axes) + (slice(1, -1),) * axes]
    plain = pred.dtype == ref.dtype == np.uint8 and pred.flags.c_contiguous
    if compiled() and plain and ref.flags.c_contiguous:
        from medfed.evaluation.kernels_mask import fill_field

        whole = (1,) * (3 - axes) + pred.shape
        starts = np.array([0] * (3 - axes) + [side.start for side in box])
        fill_field(pred.reshape(whole), ref.reshape(whole), starts, inside)
        return field
    inside = inside[(0,) * (3 - axes)]
    np.not_equal(pred[box], 0, out=inside.view(np.bool_))
    second = np.not_equal(ref[box], 0).view(np.uint8)
    second <<= 1
    inside |= second
    return field


def _both_ways(
    field: np.ndarray, pred_surface: int, ref_surface: int, spacing_mm: tuple[float, ...]
) -> tuple[np.ndarray, np.ndarray]:
    if not (pred_surface and ref_surface):
        return _NONE, _NONE
    return (
        squared_distances(field, PRED, REF, pred_surface, spacing_mm),
        squared_distances(field, REF, PRED, ref_surface, spacing_mm),
    )


def squared_distances(
    field: np.ndarray, own: int, other: int, count: int, spacing_mm: tuple[float, ...]
) -> np.ndarray:
    """(S,) squared millimetres from each point of one surface to the other, in scan order.

    Args:
        field: (D, H, W) uint8 with the bits of both surfaces.
        own: bit of the points asked about.
        other: bit of the other surface, which has at least one point.
        count: S.
        spacing_mm: millimetres along the field's last axes.
    """
    spacing = (1.0,) * (3 - len(spacing_mm)) + spacing_mm
    if not compiled():
        from medfed.evaluation import surface_numpy

        return surface_numpy.squared_distances(field, own, other, spacing)
    from medfed.evaluation.kernels_distance import far, near, row_distances

    steps, bits = row_distances(field, other)
    rows, row_mm2, beyond_mm2 = _rows(spacing[0], spacing[1], field.shape[0], field.shape[1])
    squares = np.empty(count)
    near(field, bits, own, other, steps, rows, row_mm2, beyond_mm2, spacing[2], squares)
    if count and squares.min() < 0:
        far(field, bits, other, np.array(spacing), squares)
    return squares


@lru_cache(maxsize=64)
def _rows(
    depth_mm: float, height_mm: float, depth: int, height: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Offsets of the rows around a point, nearest first, and how near those left out may be."""
    # An image has its rows in one line only.
    area = REACH_ROWS * depth_mm * height_mm / np.pi
    limit = float(np.sqrt(area)) if depth > 1 else REACH_ROWS / 2 * height_mm
    reach_d = min(int(limit / depth_mm), depth - 1)
    reach_h = min(int(limit / height_mm), height - 1)
    d, h = np.mgrid[-reach_d : reach_d + 1, -reach_h : reach_h + 1].reshape(2, -1)
    squares = (d * depth_mm) ** 2 + (h * height_mm) ** 2
    kept = np.flatnonzero(squares <= limit * limit)
    nearest = kept[np.argsort(squares[kept], kind="stable")]
    rows = np.ascontiguousarray(np.stack([d, h], axis=1)[nearest])
    outside = [
        (reach + 1) * mm
        for reach, mm, size in ((reach_d, depth_mm, depth), (reach_h, height_mm, height))
        if reach < size - 1
    ]
    left_out = squares[squares > limit * limit]
    beyond = min([o * o for o in outside] + ([float(left_out.min())] if left_out.size else []),
                 default=float("inf"))  # fmt: skip
    return rows, squares[nearest], beyond
