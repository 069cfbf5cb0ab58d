"""What published tools compute, by name: definitions and what they put in place of the absent.

Source: each tool's own code, by version, as docs name it; BraTS penalties from the challenge pages.
"""

from dataclasses import dataclass
from typing import Literal

from medfed.evaluation.absence import Penalty
from medfed.evaluation.checks import checked_choice

__all__ = ["PRESETS", "Combine", "Preset", "preset"]

Combine = Literal["max", "pooled", "pred2ref", "ref2pred"]
INF, NAN = float("inf"), float("nan")


@dataclass(frozen=True, slots=True)
class Preset:
    """One tool's choices.

    Attributes:
        surface: `voxels` with a face in the background, or `elements` of marching cubes with areas.
        combine: how the two directions become one distance; `pooled` sorts both together.
        empty: distance where one side is empty, in millimetres, or `diagonal` of the image.
        both_empty: distance where both sides are empty.
        overlap_both_empty: Dice and IoU where both sides are empty.
        aji: definition of the aggregated Jaccard index.
        match: partner rule of object-level scores.
        iou_at_threshold: whether an IoU that equals the threshold is a match.
        note: where the tool behaves in a way that is not reproduced.
    """

    surface: Literal["voxels", "elements"] = "voxels"
    combine: Combine = "max"
    empty: Penalty = INF
    both_empty: float = NAN
    overlap_both_empty: float = NAN
    aji: Literal["sorted", "kumar", "greedy", "aji_plus"] = "sorted"
    match: Literal["overlap", "iou", "greedy"] = "overlap"
    iou_at_threshold: bool = False
    note: str = ""


PRESETS: dict[str, Preset] = {
    "medfed": Preset(),
    "monai": Preset(empty=NAN, note="a nan drops out of MONAI's means, so misses are not counted"),
    "metricsreloaded": Preset(note="raises IndexError on an empty side; here the absence rule holds"),
    "medpy": Preset(
        combine="pooled", overlap_both_empty=0.0,
        note="raises on an empty side; here the absence rule holds",
    ),
    "panoptica": Preset(combine="pooled", iou_at_threshold=True),
    "deepmind": Preset(surface="elements", both_empty=INF),
    "gandlf": Preset(
        combine="pooled", empty=0.0, both_empty=0.0, overlap_both_empty=1.0,
        note="an empty side scores 0, which reads as perfect",
    ),
    "brats2023": Preset(surface="elements", empty=374.0, both_empty=0.0, overlap_both_empty=1.0),
    "brats2026": Preset(
        combine="pooled", empty="diagonal", both_empty=0.0, overlap_both_empty=1.0,
        iou_at_threshold=True,
        note="373.129 mm is the diagonal of a 240x240x155 image at 1 mm",
    ),
    "glas": Preset(match="overlap"),
    "monuseg": Preset(aji="kumar"),
    "hovernet": Preset(aji="kumar", match="iou"),
    "fullnet": Preset(aji="greedy", match="greedy"),
    "fediod": Preset(aji="sorted", match="greedy"),
}  # fmt: skip


def preset(name: str) -> Preset:
    """A preset by name.

    Raises:
        InputError: no such preset; the known ones are listed.
    """
    return PRESETS[checked_choice(name, tuple(PRESETS), "preset")]
