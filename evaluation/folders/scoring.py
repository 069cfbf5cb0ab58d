"""Two arrays on one grid become the columns of a row, by kind of evaluation.

Axes: X Y Z voxels or H W pixels.
"""

from typing import Any

import numpy as np

from medfed.evaluation.absence import absent_distance
from medfed.evaluation.case_scores import RegionScores, score_case, score_mask
from medfed.evaluation.folders.geometry import OnOneGrid
from medfed.evaluation.folders.settings import Settings
from medfed.evaluation.instance_scores import instance_scores
from medfed.evaluation.object_scores import matched_object_scores, object_hausdorff
from medfed.evaluation.overlap import dice
from medfed.evaluation.presets import preset
from medfed.evaluation.surface import hd95

__all__ = ["as_objects", "score_binary", "score_instances", "score_labels"]


def score_binary(grid: OnOneGrid, settings: Settings) -> dict[str, Any]:
    """Scores of everything that is not background."""
    scores = score_mask(
        grid.pred, grid.ref, spacing_mm=grid.spacing_mm, tolerance_mm=settings.tolerance_mm
    )
    return _row(scores) | _as_tools(grid.pred, grid.ref, grid, settings)


def score_labels(grid: OnOneGrid, settings: Settings) -> dict[str, dict[str, Any]]:
    """Scores of each label and region."""
    regions = settings.region_map()
    scores = score_case(
        grid.pred, grid.ref, labels=settings.labels or None, regions=regions or None,
        spacing_mm=grid.spacing_mm, tolerance_mm=settings.tolerance_mm,
    )  # fmt: skip
    rows = {}
    for name, found in scores.items():
        rows[name] = _row(found)
        if settings.presets:
            members = regions.get(name) or (int(name),)
            masks = np.isin(grid.pred, members), np.isin(grid.ref, members)
            rows[name] |= _as_tools(*masks, grid, settings)
    return rows


def score_instances(grid: OnOneGrid, settings: Settings) -> dict[str, Any]:
    """Scores of objects, and the Dice of their union."""
    pred = as_objects(grid.pred, settings.components in ("pred", "both"), settings.foreground)
    ref = as_objects(grid.ref, settings.components in ("ref", "both"), settings.foreground)
    scores = instance_scores(pred, ref, iou_threshold=settings.iou_threshold)
    row = scores.as_dict()
    if settings.object_hausdorff:
        row["object_hausdorff"] = object_hausdorff(pred, ref, spacing_mm=grid.spacing_mm)
        matched = matched_object_scores(pred, ref, spacing_mm=grid.spacing_mm)
        row["matched_dice"], row["matched_hausdorff"] = matched.dice, matched.hausdorff
        if scores.outcome == "both_empty":
            row["matched_dice"] = row["matched_hausdorff"] = absent_distance("both_empty")
    row["dice"] = dice(pred, ref)
    return row


def as_objects(array: np.ndarray, components: bool, foreground: int) -> np.ndarray:
    """An instance map: the array itself, or the connected components of its foreground.

    Components touch by a face; objects that meet at a corner stay two.

    Args:
        array: labels or object ids.
        components: whether objects are made here.
        foreground: the label that is foreground; 0 for every label but 0.
    """
    if not components:
        return array
    from scipy.ndimage import label

    inside = array == foreground if foreground else array != 0
    return np.asarray(label(inside)[0])


def _row(scores: RegionScores) -> dict[str, Any]:
    row = scores.as_dict()
    row["pred_volume"] = scores.pred * scores.voxel_size
    row["ref_volume"] = scores.ref * scores.voxel_size
    return row


def _as_tools(
    pred: np.ndarray, ref: np.ndarray, grid: OnOneGrid, settings: Settings
) -> dict[str, float]:
    found = {}
    for name in settings.presets:
        rule = preset(name)
        found[f"dice_{name}"] = dice(pred, ref, both_empty=rule.overlap_both_empty)
        found[f"hd95_{name}"] = hd95(pred, ref, spacing_mm=grid.spacing_mm, definition=name)
    return found
