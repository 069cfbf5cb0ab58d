"""The room's scores as MONAI metrics, for loops and handlers that expect a CumulativeIterationMetric.

Call with a batch, aggregate at the end of an epoch, reset. What differs from MONAI's own: an empty
prediction is inf and counted, not nan and dropped, and any non-zero value is foreground.
This module needs torch and MONAI; nothing else in the room imports it.

Axes: B cases of a batch, C channels, X Y Z voxels.
"""

from collections.abc import Sequence
from typing import Any

import torch
from monai.metrics.metric import CumulativeIterationMetric

from medfed.evaluation.case_scores import TOLERANCE_MM, score_mask
from medfed.evaluation.checks import InputError, checked_choice
from medfed.evaluation.instance_scores import instance_scores
from medfed.evaluation.score_sums import ScoreSums

__all__ = ["InstanceMetric", "RegionMetric"]

REGION_SCORES = (
    "dice", "iou", "sensitivity", "specificity", "precision", "hausdorff", "hd95", "hd95_pooled",
    "average_surface_distance", "surface_dice",
)  # fmt: skip
INSTANCE_SCORES = (
    "aji", "aji_kumar", "aji_greedy", "aji_plus", "pq", "dq", "sq", "object_dice", "object_dice_iou",
)  # fmt: skip


class _Metric(CumulativeIterationMetric):
    """Mean over cases and channels of a buffer of scores (B, C)."""

    def __init__(self, penalty: float | None) -> None:
        super().__init__()
        self.penalty = penalty

    def per_channel(self) -> list[ScoreSums]:
        """Sums of each channel: mean, standard deviation, and how many cases were absent."""
        data: Any = self.get_buffer()  # type: ignore[no-untyped-call]
        if not isinstance(data, torch.Tensor):
            raise InputError("no case has been scored yet.")
        sums = [ScoreSums() for _ in range(data.shape[1])]
        for row in data.tolist():
            sums = [channel.add(score) for channel, score in zip(sums, row, strict=True)]
        return sums

    def aggregate(self) -> torch.Tensor:
        """Mean over all defined scores of all channels.

        Infinite scores count `penalty`, or make the mean infinite where there is none.
        """
        whole = ScoreSums()
        for channel in self.per_channel():
            whole = whole.merge(channel)
        if self.penalty is None and whole.infinite:
            return torch.tensor(float("inf"), dtype=torch.float64)
        return torch.tensor(whole.mean(penalty=self.penalty), dtype=torch.float64)


class RegionMetric(_Metric):
    """A score of each channel of one-hot or multi-label masks.

    Args:
        score: dice, hd95, surface_dice or another column of score_mask.
        include_background: whether channel 0 is scored.
        spacing_mm: one number a spatial axis; None for ones.
        tolerance_mm: of the surface Dice.
        penalty: what an infinite distance counts in the mean.

    >>> metric = RegionMetric("hd95", penalty=374.0)
    """

    def __init__(
        self,
        score: str = "dice",
        *,
        include_background: bool = False,
        spacing_mm: Sequence[float] | None = None,
        tolerance_mm: float = TOLERANCE_MM,
        penalty: float | None = None,
    ) -> None:
        super().__init__(penalty)
        self.score = checked_choice(score, REGION_SCORES, "score")
        self.include_background = include_background
        self.spacing_mm = spacing_mm
        self.tolerance_mm = tolerance_mm

    def _compute_tensor(
        self, y_pred: torch.Tensor, y: torch.Tensor | None = None, **_: object
    ) -> torch.Tensor:
        """(B, C) scores of masks (B, C, X, Y[, Z])."""
        pred, ref = _pair(y_pred, y)
        first = 0 if self.include_background or pred.shape[1] == 1 else 1
        rows = [
            [self._one(p, r) for p, r in zip(pred[b, first:], ref[b, first:], strict=True)]
            for b in range(len(pred))
        ]
        return torch.tensor(rows, dtype=torch.float64)

    def _one(self, pred: torch.Tensor, ref: torch.Tensor) -> float:
        scores = score_mask(
            pred.numpy(), ref.numpy(), spacing_mm=self.spacing_mm, tolerance_mm=self.tolerance_mm
        )
        return float(getattr(scores, self.score))


class InstanceMetric(_Metric):
    """A score of instance maps, one channel.

    Args:
        score: aji, pq, object_dice or another column of instance_scores.
        iou_threshold: a match of panoptic quality exceeds it.
    """

    def __init__(self, score: str = "aji", *, iou_threshold: float = 0.5) -> None:
        super().__init__(None)
        self.score = checked_choice(score, INSTANCE_SCORES, "score")
        self.iou_threshold = iou_threshold

    def _compute_tensor(
        self, y_pred: torch.Tensor, y: torch.Tensor | None = None, **_: object
    ) -> torch.Tensor:
        """(B, 1) scores of maps (B, 1, X, Y[, Z])."""
        pred, ref = _pair(y_pred, y)
        if pred.shape[1] != 1:
            raise InputError(f"instance maps have one channel, not {pred.shape[1]}.")
        rows = [
            [float(getattr(instance_scores(p[0].numpy(), r[0].numpy(), iou_threshold=self.iou_threshold), self.score))]
            for p, r in zip(pred, ref, strict=True)
        ]  # fmt: skip
        return torch.tensor(rows, dtype=torch.float64)


def _pair(y_pred: torch.Tensor, y: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    if y is None:
        raise InputError("a reference is needed.")
    if y_pred.shape != y.shape or y.ndim < 4:
        raise InputError(
            f"prediction {tuple(y_pred.shape)} and reference {tuple(y.shape)} must both be (B, C, X, Y[, Z])."
        )
    return _plain(y_pred), _plain(y)


def _plain(masks: torch.Tensor) -> torch.Tensor:
    """On the CPU, without gradients; bfloat16, which numpy lacks, as float32."""
    held = torch.as_tensor(masks).detach().cpu()
    return held.float() if held.dtype == torch.bfloat16 else held
