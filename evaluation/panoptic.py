"""Panoptic quality and detection scores of two instance maps."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from medfed.evaluation.checks import InputError
from medfed.evaluation.contingency import Contingency, contingency
from medfed.evaluation.matching import optimal_pairs

__all__ = ["PanopticQuality", "panoptic_of", "panoptic_quality"]


@dataclass(frozen=True, slots=True)
class PanopticQuality:
    """Detection and segmentation quality; nan where both maps are empty.

    Attributes:
        pq: dq times sq.
        dq: detection quality, the F1 score of objects.
        sq: mean IoU of matches; 0 without a match.
        tp: matched objects.
        fp: predictions without a match.
        fn: references without a match.
        iou_threshold: that a match exceeds.
    """

    pq: float
    dq: float
    sq: float
    tp: int
    fp: int
    fn: int
    iou_threshold: float

    @property
    def f1(self) -> float:
        """Detection F1: another name of dq."""
        return self.dq

    @property
    def precision(self) -> float:
        """Share of predictions that are matched; 0 without any, nan where both maps are empty."""
        return self.tp / max(self.tp + self.fp, 1) if self._any() else float("nan")

    @property
    def recall(self) -> float:
        """Share of references that are matched; 0 without any, nan where both maps are empty."""
        return self.tp / max(self.tp + self.fn, 1) if self._any() else float("nan")

    def _any(self) -> bool:
        return self.tp + self.fp + self.fn > 0


def panoptic_quality(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    *,
    iou_threshold: float = 0.5,
    at_threshold: bool = False,
) -> PanopticQuality:
    """Panoptic quality: matches are pairs whose IoU exceeds the threshold.

    From 0.5 on, a match is unique by itself. Below, the optimal one-to-one assignment is made first and
    then filtered, as hover_net does.

    Args:
        pred: instance map; 0 is background, ids may have gaps.
        ref: same shape.
        iou_threshold: in [0, 1).
        at_threshold: whether an IoU equal to the threshold is a match, as in panoptica.

    Raises:
        InputError: shapes differ, an id is negative or a fraction, or the threshold is out of range.

    Source: Kirillov et al. 2019, eq. 1.

    >>> panoptic_quality([[1, 1, 0, 2]], [[1, 1, 0, 0]]).pq
    0.6666666666666666
    """
    return panoptic_of(contingency(pred, ref), iou_threshold, at_threshold=at_threshold)


def panoptic_of(
    table: Contingency,
    iou_threshold: float,
    *,
    at_threshold: bool = False,
    optimal: np.ndarray | None = None,
) -> PanopticQuality:
    """Panoptic quality from a table.

    Args:
        table: of two maps.
        iou_threshold: in [0, 1).
        at_threshold: whether an IoU equal to the threshold is a match.
        optimal: the table's optimal pairs, where they are known already.
    """
    if not 0 <= iou_threshold < 1:
        raise InputError(f"iou_threshold={iou_threshold} must lie in [0, 1).")
    iou = table.iou()
    if iou_threshold < 0.5 or (at_threshold and iou_threshold == 0.5):
        iou = iou[optimal_pairs(table) if optimal is None else optimal]
    matched = iou[iou >= iou_threshold] if at_threshold else iou[iou > iou_threshold]
    tp = matched.size
    fp, fn = table.pred_ids.size - tp, table.ref_ids.size - tp
    if table.outcome == "both_empty":
        nan = float("nan")
        return PanopticQuality(nan, nan, nan, 0, 0, 0, iou_threshold)
    dq = tp / (tp + fp / 2 + fn / 2)
    sq = float(matched.sum() / tp) if tp else 0.0
    return PanopticQuality(dq * sq, dq, sq, tp, fp, fn, iou_threshold)
