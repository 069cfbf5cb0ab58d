"""Scores of objects: GlaS object Dice and Hausdorff, and plain means over matched pairs.

Axes: P predicted objects, R reference objects, K pairs that overlap.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from medfed.evaluation.absence import absent_distance
from medfed.evaluation.checks import InputError, checked_choice, checked_spacing
from medfed.evaluation.contingency import Contingency, contingency, instance_maps
from medfed.evaluation.matching import MATCHES, best_of_each
from medfed.evaluation.object_distances import Objects, hausdorff_mm, nearest_mm, objects_of

__all__ = [
    "MatchedObjects", "matched_object_scores", "object_dice", "object_dice_of", "object_hausdorff",
]  # fmt: skip

Match = Literal["overlap", "iou"]


@dataclass(frozen=True, slots=True)
class MatchedObjects:
    """Plain means over matched pairs. No pair at all is dice 0, iou 0 and hausdorff inf.

    Attributes:
        dice: mean Dice of the pairs.
        iou: mean IoU of the pairs.
        hausdorff: mean Hausdorff distance of the pairs over region pixels, in millimetres.
        pairs: matched pairs.
        unmatched_pred: predictions without a partner; they take no part in the means.
        unmatched_ref: references without a partner; they take no part in the means.
    """

    dice: float
    iou: float
    hausdorff: float
    pairs: int
    unmatched_pred: int
    unmatched_ref: int


def object_dice(pred: Any, ref: Any, *, match: Match = "overlap") -> float:  # noqa: ANN401
    """Object Dice of the GlaS challenge; two empty maps are nan, one is 0.

    Half the sum over both sides: each object's Dice with its partner, weighted by its share of its
    side's area. An object without overlap has Dice 0.

    Args:
        pred: instance map; 0 is background, ids may have gaps.
        ref: same shape.
        match: the partner overlaps most in pixels (`overlap`) or has the highest IoU (`iou`); ties go
            to the lower id.

    Raises:
        InputError: shapes differ, or an id is negative or a fraction.

    Source: Sirinukunwattana et al. 2017, eq. 5.

    >>> object_dice([[1, 1, 0, 2]], [[1, 1, 0, 0]])
    0.8333333333333333
    """
    return object_dice_of(contingency(pred, ref), match)


def object_dice_of(table: Contingency, match: Match = "overlap") -> float:
    """Object Dice from a table; arguments as in object_dice."""
    if table.outcome == "both_empty":
        return float("nan")
    dice, total = table.dice(), 0.0
    for side, areas in ((table.pred, table.pred_areas), (table.ref, table.ref_areas)):
        best = best_of_each(side, _wanted(table, match))
        if areas.size:
            total += float((areas[side[best]] * dice[best]).sum() / areas.sum())
    return total / 2


def object_hausdorff(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    *,
    spacing_mm: Any = None,  # noqa: ANN401
    match: Match = "overlap",
    points: Literal["region", "surface"] = "region",
) -> float:
    """Object Hausdorff distance of the GlaS challenge, in millimetres; one empty is inf, both nan.

    Half the sum over both sides: each object's Hausdorff distance to its partner, weighted by its
    share of its side's area. An object without overlap takes the smallest distance to any object.

    Args:
        pred: instance map; 0 is background, ids may have gaps.
        ref: same shape.
        spacing_mm: one number an axis in array order; None for ones.
        match: as in object_dice.
        points: all pixels of an object (`region`), or those with a face outside it (`surface`).

    Raises:
        InputError: shapes differ, an id is negative or a fraction, or the spacing is refused.

    Source: Sirinukunwattana et al. 2017, eq. 6 and 7.
    """
    checked_choice(points, ("region", "surface"), "points")
    one, other, table, spacing = _opened(pred, ref, spacing_mm)
    wanted = _wanted(table, match)
    if table.outcome != "scored":
        return absent_distance(table.outcome)
    surface = points == "surface"
    predicted = objects_of(one, table.pred_ids, spacing, surface=surface)
    true = objects_of(other, table.ref_ids, spacing, surface=surface)
    from_pred, from_ref = best_of_each(table.pred, wanted), best_of_each(table.ref, wanted)
    asked = np.union1d(from_pred, from_ref)
    distance = np.zeros(table.overlap.size)
    distance[asked] = hausdorff_mm(predicted, table.pred[asked], true, table.ref[asked])
    return (
        _side(table.pred, from_pred, distance, table.pred_areas, (predicted, true))
        + _side(table.ref, from_ref, distance, table.ref_areas, (true, predicted))
    ) / 2


def matched_object_scores(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    *,
    definition: Literal["greedy", "sorted", "aji_plus"] = "greedy",
    spacing_mm: Any = None,  # noqa: ANN401
) -> MatchedObjects:
    """Plain means of Dice, IoU and Hausdorff over matched pairs, objects without a partner left out.

    It cannot see missed or invented objects: read it with the counts beside it, or take object_dice.
    Two empty maps are nan.

    Args:
        pred: instance map; 0 is background, ids may have gaps.
        ref: same shape.
        definition: `greedy`: references by id, each takes the best not yet taken (AsynDGAN and
            FullNet); `sorted`: pairs by falling IoU; `aji_plus`: the optimal assignment.
        spacing_mm: one number an axis in array order; None for ones.

    Raises:
        InputError: shapes differ, an id is negative or a fraction, or the spacing is refused.
    """
    checked_choice(definition, ("greedy", "sorted", "aji_plus"), "definition")
    one, other, table, spacing = _opened(pred, ref, spacing_mm)
    pairs = MATCHES[definition](table)
    loose_pred, loose_ref = table.pred_ids.size - pairs.size, table.ref_ids.size - pairs.size
    if not pairs.size:
        absent = float("nan") if table.outcome == "both_empty" else 0.0
        distance = absent if np.isnan(absent) else float("inf")
        return MatchedObjects(absent, absent, distance, 0, loose_pred, loose_ref)
    distances = hausdorff_mm(
        objects_of(one, table.pred_ids, spacing), table.pred[pairs],
        objects_of(other, table.ref_ids, spacing), table.ref[pairs],
    )  # fmt: skip
    return MatchedObjects(
        float(table.dice()[pairs].mean()), float(table.iou()[pairs].mean()),
        float(distances.mean()), pairs.size, loose_pred, loose_ref,
    )  # fmt: skip


def _opened(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    spacing_mm: Any,  # noqa: ANN401
) -> tuple[np.ndarray, np.ndarray, Contingency, tuple[float, ...]]:
    one, other = instance_maps(pred, ref)
    if one.ndim > 3:
        raise InputError(f"a map of {one.ndim} axes has no distances here; give up to three.")
    spacing = checked_spacing(spacing_mm, one.ndim)
    return one, other, contingency(one, other), spacing


def _wanted(table: Contingency, match: Match) -> np.ndarray:
    checked_choice(match, ("overlap", "iou"), "match")
    return table.overlap if match == "overlap" else table.iou()


def _side(
    side: np.ndarray,
    best: np.ndarray,
    distance: np.ndarray,
    areas: np.ndarray,
    objects: tuple[Objects, Objects],
) -> float:
    """Distances of one side's objects to their partners, weighted by area."""
    own, others = objects
    found = np.full(areas.size, -1.0)
    found[side[best]] = distance[best]
    for number in np.flatnonzero(found < 0):
        found[number] = nearest_mm(own, int(number), others)
    return float((areas * found).sum() / areas.sum())
