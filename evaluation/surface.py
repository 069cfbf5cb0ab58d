"""Distances between surfaces, in millimetres by spacing.

A surface is the foreground voxels with a face neighbour in the background; beyond the image is
background. `deepmind` and `brats2023` take marching-cubes elements with areas instead.

Axes: S surface points or elements.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from medfed.evaluation.absence import Outcome, Penalty, absent_distance, penalty_mm
from medfed.evaluation.checks import InputError, checked_choice
from medfed.evaluation.percentiles import mean_mm, percentile_mm, weighted_percentile_mm
from medfed.evaluation.presets import PRESETS, Combine, Preset
from medfed.evaluation.surface_field import Measured, measured, measured_elements

__all__ = [
    "SurfaceDistances", "average_surface_distance", "combined_mm", "hausdorff", "hd95",
    "surface_dice", "surface_distances",
]  # fmt: skip

DIRECTIONS = ("max", "pooled", "pred2ref", "ref2pred")
MEANS = {
    "symmetric": "symmetric",
    "medpy": "symmetric",
    "metricsreloaded": "symmetric",
    "mean_of_means": "mean_of_means",
    "panoptica": "mean_of_means",
    "max": "max",
    "pred2ref": "pred2ref",
    "ref2pred": "ref2pred",
    "deepmind_pred2ref": "pred2ref",
    "deepmind_ref2pred": "ref2pred",
}


@dataclass(frozen=True, slots=True)
class SurfaceDistances:
    """Every distance between two surfaces, in no particular order.

    Attributes:
        pred_to_ref: (S,) millimetres; inf where the reference is empty.
        ref_to_pred: (S,) millimetres; inf where the prediction is empty.
        pred_sizes: (S,) area or length of each element; ones for voxels.
        ref_sizes: (S,) the same for the reference.
        outcome: the absence rule's word.
    """

    pred_to_ref: np.ndarray
    ref_to_pred: np.ndarray
    pred_sizes: np.ndarray
    ref_sizes: np.ndarray
    outcome: Outcome


def surface_distances(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    *,
    spacing_mm: Any = None,  # noqa: ANN401
    definition: str = "voxels",
) -> SurfaceDistances:
    """Distances from each surface to the other.

    Args:
        pred: (H, W) or (D, H, W) any type; foreground is non-zero.
        ref: same shape.
        spacing_mm: one number an axis in array order; None for ones.
        definition: `voxels`, or `elements` for marching cubes.

    Raises:
        InputError: shapes, types or spacing that cannot be scored.
    """
    checked_choice(definition, ("voxels", "elements", "deepmind", "brats2023"), "definition")
    if definition == "voxels":
        pair = measured(pred, ref, spacing_mm)
        sizes = np.ones(pair.pred_surface), np.ones(pair.ref_surface)
    else:
        pair, sizes = measured_elements(pred, ref, spacing_mm)
    if pair.outcome == "scored":
        to_ref, to_pred = np.sqrt(pair.pred_mm2), np.sqrt(pair.ref_mm2)
    else:
        to_ref, to_pred = np.full(len(sizes[0]), np.inf), np.full(len(sizes[1]), np.inf)
    return SurfaceDistances(to_ref, to_pred, *sizes, pair.outcome)


def hausdorff(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    *,
    spacing_mm: Any = None,  # noqa: ANN401
    percentile: float = 100.0,
    definition: str = "max",
    empty: Penalty | None = None,
    both_empty: float | None = None,
) -> float:
    """Hausdorff distance, or a percentile of it, in millimetres.

    One side empty is inf and both empty nan, unless the definition or the arguments say otherwise.

    Args:
        pred: (H, W) or (D, H, W) any type; foreground is non-zero.
        ref: same shape.
        spacing_mm: one number an axis in array order; None for ones.
        percentile: in [0, 100]; 100 is the Hausdorff distance itself.
        definition: `max`, the larger of the two directed percentiles; `pooled`, a percentile of both
            sets together; `pred2ref`, `ref2pred`; or a preset: `monai`, `medpy`, `deepmind`,
            `brats2023`, `brats2026`, `gandlf`, `panoptica`, `metricsreloaded`.
        empty: distance where one side is empty, or `diagonal` of the image; None: the definition's.
        both_empty: distance where both are; None: the definition's.

    Raises:
        InputError: shapes, types, spacing or options that cannot be scored.

    Source: Huttenlocher et al. 1993; percentile rules by tool in docs/reference/metrics.

    >>> hausdorff([[1, 0, 0, 0]], [[1, 0, 0, 1]], spacing_mm=(1, 2))
    6.0
    """
    if not 0 <= percentile <= 100:
        raise InputError(f"percentile={percentile} must lie in [0, 100].")
    checked_choice(definition, (*DIRECTIONS, *PRESETS), "definition")
    rule = PRESETS.get(definition, Preset(combine=_direction(definition)))
    if rule.surface == "elements":
        pair, sizes = measured_elements(pred, ref, spacing_mm)
        if pair.outcome == "scored":
            return max(
                weighted_percentile_mm(pair.pred_mm2, sizes[0], percentile),
                weighted_percentile_mm(pair.ref_mm2, sizes[1], percentile),
            )
    else:
        pair = measured(pred, ref, spacing_mm)
        if pair.outcome == "scored":
            return combined_mm(pair, percentile, rule.combine)
    return absent_distance(
        pair.outcome,
        empty=penalty_mm(rule.empty if empty is None else empty, pair.shape, pair.spacing_mm),
        both_empty=rule.both_empty if both_empty is None else both_empty,
    )


def hd95(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    *,
    spacing_mm: Any = None,  # noqa: ANN401
    definition: str = "max",
    empty: Penalty | None = None,
    both_empty: float | None = None,
) -> float:
    """95th percentile of the Hausdorff distance; arguments as in hausdorff.

    >>> hd95([[1, 0, 0, 0]], [[1, 0, 0, 1]], definition="pred2ref")
    0.0
    """
    return hausdorff(
        pred, ref, spacing_mm=spacing_mm, percentile=95.0, definition=definition,
        empty=empty, both_empty=both_empty,
    )  # fmt: skip


def average_surface_distance(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    *,
    spacing_mm: Any = None,  # noqa: ANN401
    definition: str = "symmetric",
) -> float:
    """Mean distance between two surfaces, in millimetres; one side empty is inf, both nan.

    Args:
        pred: (H, W) or (D, H, W) any type; foreground is non-zero.
        ref: same shape.
        spacing_mm: one number an axis in array order; None for ones.
        definition: `symmetric`, over the points of both surfaces together (ASSD; `medpy` 0.5,
            `metricsreloaded`); `mean_of_means`, of the two directed means (`panoptica`, MedPy 0.4);
            `max` of them; `pred2ref`, `ref2pred`; `deepmind_pred2ref`, `deepmind_ref2pred`, weighted
            by area.

    Raises:
        InputError: shapes, types, spacing or options that cannot be scored.
    """
    checked_choice(definition, tuple(MEANS), "definition")
    if definition.startswith("deepmind"):
        pair, sizes = measured_elements(pred, ref, spacing_mm)
    else:
        pair, sizes = measured(pred, ref, spacing_mm), (None, None)  # type: ignore[assignment]
    if pair.outcome != "scored":
        return absent_distance(pair.outcome)
    rule = MEANS[definition]
    if rule == "symmetric":
        return mean_mm(np.concatenate([pair.pred_mm2, pair.ref_mm2]))
    to_ref, to_pred = mean_mm(pair.pred_mm2, sizes[0]), mean_mm(pair.ref_mm2, sizes[1])
    if rule == "mean_of_means":
        return (to_ref + to_pred) / 2
    if rule == "max":
        return max(to_ref, to_pred)
    return to_ref if rule == "pred2ref" else to_pred


def surface_dice(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    tolerance_mm: float,
    *,
    spacing_mm: Any = None,  # noqa: ANN401
    definition: str = "voxels",
    both_empty: float = float("nan"),
) -> float:
    """Share of both surfaces that lies within a tolerance of the other; one side empty is 0.

    Args:
        pred: (H, W) or (D, H, W) any type; foreground is non-zero.
        ref: same shape.
        tolerance_mm: at least 0; a distance equal to it is within.
        spacing_mm: one number an axis in array order; None for ones.
        definition: `voxels` counts surface voxels (MONAI); `deepmind` weighs elements by area.
        both_empty: the score of two empty masks.

    Raises:
        InputError: shapes, types, spacing or options that cannot be scored.

    Source: Nikolov et al. 2021, eq. 1.
    """
    if not tolerance_mm >= 0:
        raise InputError(f"tolerance_mm={tolerance_mm} must be at least 0.")
    found = surface_distances(
        pred,
        ref,
        spacing_mm=spacing_mm,
        definition="voxels" if definition == "monai" else definition,
    )
    whole = found.pred_sizes.sum() + found.ref_sizes.sum()
    if not whole:
        return both_empty
    within = found.pred_sizes[found.pred_to_ref <= tolerance_mm].sum()
    within += found.ref_sizes[found.ref_to_pred <= tolerance_mm].sum()
    return float(within / whole)


def combined_mm(pair: Measured, percentile: float, combine: Combine) -> float:
    """One distance from the two directions of a pair that has both.

    Args:
        pair: outcome `scored`.
        percentile: in [0, 100].
        combine: how.
    """
    if combine == "pooled":
        return percentile_mm(np.concatenate([pair.pred_mm2, pair.ref_mm2]), percentile)
    if combine == "pred2ref":
        return percentile_mm(pair.pred_mm2, percentile)
    to_pred = percentile_mm(pair.ref_mm2, percentile)
    return (
        to_pred if combine == "ref2pred" else max(percentile_mm(pair.pred_mm2, percentile), to_pred)
    )


def _direction(definition: str) -> Combine:
    directions: dict[str, Combine] = {
        "max": "max", "pooled": "pooled", "pred2ref": "pred2ref", "ref2pred": "ref2pred",
    }  # fmt: skip
    return directions.get(definition, "max")
