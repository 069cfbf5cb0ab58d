"""All scores of two instance maps that need no distances, from one table."""

from dataclasses import asdict, dataclass
from typing import Any

from medfed.evaluation.absence import Outcome
from medfed.evaluation.aggregated_jaccard import aggregated_jaccard
from medfed.evaluation.contingency import Contingency, contingency
from medfed.evaluation.matching import greedy_pairs, kumar_pairs, optimal_pairs, sorted_pairs
from medfed.evaluation.object_scores import object_dice_of
from medfed.evaluation.panoptic import panoptic_of

__all__ = ["INSTANCE_DEFINITIONS", "InstanceScores", "instance_scores", "instance_scores_of"]

INSTANCE_DEFINITIONS = {
    "aji": "sorted: pairs by falling IoU, each object once (FedIOD eq. 12)",
    "aji_kumar": "each reference takes its best prediction, reuse allowed (Kumar 2017, hover_net)",
    "aji_greedy": "references by id, each takes the best not yet taken (FullNet, AsynDGAN)",
    "aji_plus": "optimal one-to-one assignment",
    "pq": "dq times sq; a match exceeds iou_threshold",
    "dq": "detection F1; a match exceeds iou_threshold",
    "sq": "mean IoU of matches; 0 without a match",
    "object_dice": "GlaS: both sides, weighted by area, partner by largest overlap",
    "object_dice_iou": "GlaS: both sides, weighted by area, partner by highest IoU",
}


@dataclass(frozen=True, slots=True)
class InstanceScores:
    """Scores of two instance maps; two empty maps are nan. INSTANCE_DEFINITIONS names each."""

    outcome: Outcome
    aji: float
    aji_kumar: float
    aji_greedy: float
    aji_plus: float
    pq: float
    dq: float
    sq: float
    tp: int
    fp: int
    fn: int
    object_dice: float
    object_dice_iou: float
    pred_objects: int
    ref_objects: int
    iou_threshold: float

    def as_dict(self) -> dict[str, Any]:
        """The scores by name."""
        return asdict(self)


def instance_scores(pred: Any, ref: Any, *, iou_threshold: float = 0.5) -> InstanceScores:  # noqa: ANN401
    """Every AJI, panoptic quality and object Dice from one pass over the maps.

    Args:
        pred: instance map; 0 is background, ids may have gaps.
        ref: same shape.
        iou_threshold: of panoptic quality.

    Raises:
        InputError: shapes differ, an id is negative or a fraction, or the threshold is out of range.
    """
    return instance_scores_of(contingency(pred, ref), iou_threshold=iou_threshold)


def instance_scores_of(table: Contingency, *, iou_threshold: float = 0.5) -> InstanceScores:
    """The same scores from a table that is there already."""
    optimal = optimal_pairs(table)
    panoptic = panoptic_of(table, iou_threshold, optimal=optimal)
    return InstanceScores(
        outcome=table.outcome,
        aji=aggregated_jaccard(table, sorted_pairs(table)),
        aji_kumar=aggregated_jaccard(table, kumar_pairs(table)),
        aji_greedy=aggregated_jaccard(table, greedy_pairs(table)),
        aji_plus=aggregated_jaccard(table, optimal),
        pq=panoptic.pq, dq=panoptic.dq, sq=panoptic.sq,
        tp=panoptic.tp, fp=panoptic.fp, fn=panoptic.fn,
        object_dice=object_dice_of(table), object_dice_iou=object_dice_of(table, "iou"),
        pred_objects=table.pred_ids.size, ref_objects=table.ref_ids.size,
        iou_threshold=iou_threshold,
    )  # fmt: skip
