"""What each column is: its unit, which way is better, and what a failure counts."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["INSTANCE_METRICS", "REGION_METRICS", "Metric", "metric_of", "metrics_of"]

Unit = Literal["share", "distance"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One score.

    Attributes:
        name: of the column.
        title: for people.
        unit: a share between 0 and 1, of which more is better, or a distance, of which less is.
        main: whether it is drawn on the page.
    """

    name: str
    title: str
    unit: Unit = "share"
    main: bool = False

    @property
    def higher_is_better(self) -> bool:
        """Which way is better."""
        return self.unit == "share"


REGION_METRICS = (
    Metric("dice", "Dice", main=True),
    Metric("iou", "IoU"),
    Metric("sensitivity", "Sensitivity"),
    Metric("specificity", "Specificity"),
    Metric("precision", "Precision"),
    Metric("surface_dice", "Surface Dice", main=True),
    Metric("hd95", "HD95 (max of both directions)", "distance", main=True),
    Metric("hd95_pooled", "HD95 (pooled)", "distance"),
    Metric("hausdorff", "Hausdorff", "distance"),
    Metric("average_surface_distance", "Average surface distance", "distance"),
)
INSTANCE_METRICS = (
    Metric("aji", "AJI (sorted)", main=True),
    Metric("aji_kumar", "AJI (kumar: reuse allowed)"),
    Metric("aji_greedy", "AJI (greedy by id)"),
    Metric("aji_plus", "AJI+ (optimal)"),
    Metric("pq", "Panoptic quality", main=True),
    Metric("dq", "Detection quality (F1)", main=True),
    Metric("sq", "Segmentation quality"),
    Metric("object_dice", "Object Dice (GlaS)", main=True),
    Metric("object_dice_iou", "Object Dice (partner by IoU)"),
    Metric("object_hausdorff", "Object Hausdorff (GlaS)", "distance", main=True),
    Metric("matched_dice", "Dice of matched objects"),
    Metric("matched_hausdorff", "Hausdorff of matched objects", "distance"),
    Metric("dice", "Dice of all foreground"),
)


def metrics_of(kind: str, presets: tuple[str, ...] = ()) -> tuple[Metric, ...]:
    """The scores of a kind of evaluation, presets last."""
    if kind == "instances":
        return INSTANCE_METRICS
    return REGION_METRICS + tuple(
        metric
        for name in presets
        for metric in (
            Metric(f"dice_{name}", f"Dice as {name}"),
            Metric(f"hd95_{name}", f"HD95 as {name}", "distance"),
        )
    )


def metric_of(kind: str, name: str, presets: tuple[str, ...] = ()) -> Metric:
    """One score by name; KeyError where the kind has none of that name."""
    return {metric.name: metric for metric in metrics_of(kind, presets)}[name]
