"""Evaluation: predictions and references in, scores out. Needs neither NVFlare nor torch.

Every function takes the prediction first and the reference second. Names are loaded on first use,
so that importing this package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medfed.evaluation.absence import (
        OUTCOMES as OUTCOMES,
    )
    from medfed.evaluation.absence import (
        Outcome as Outcome,
    )
    from medfed.evaluation.aggregated_jaccard import (
        AJI_DEFINITIONS as AJI_DEFINITIONS,
    )
    from medfed.evaluation.aggregated_jaccard import (
        aji as aji,
    )
    from medfed.evaluation.aggregated_jaccard import (
        aji_plus as aji_plus,
    )
    from medfed.evaluation.bootstrap import (
        AurocInterval as AurocInterval,
    )
    from medfed.evaluation.bootstrap import (
        Interval as Interval,
    )
    from medfed.evaluation.bootstrap import (
        bootstrap_auroc as bootstrap_auroc,
    )
    from medfed.evaluation.bootstrap import (
        bootstrap_interval as bootstrap_interval,
    )
    from medfed.evaluation.calibration import (
        Reliability as Reliability,
    )
    from medfed.evaluation.calibration import (
        brier as brier,
    )
    from medfed.evaluation.calibration import (
        calibration_error as calibration_error,
    )
    from medfed.evaluation.calibration import (
        reliability_curve as reliability_curve,
    )
    from medfed.evaluation.case_scores import (
        DEFINITIONS as DEFINITIONS,
    )
    from medfed.evaluation.case_scores import (
        RegionScores as RegionScores,
    )
    from medfed.evaluation.case_scores import (
        score_case as score_case,
    )
    from medfed.evaluation.case_scores import (
        score_mask as score_mask,
    )
    from medfed.evaluation.checks import (
        InputError as InputError,
    )
    from medfed.evaluation.classification import (
        Curve as Curve,
    )
    from medfed.evaluation.classification import (
        auprc as auprc,
    )
    from medfed.evaluation.classification import (
        auroc as auroc,
    )
    from medfed.evaluation.classification import (
        pr_curve as pr_curve,
    )
    from medfed.evaluation.classification import (
        roc_curve as roc_curve,
    )
    from medfed.evaluation.classification import (
        sensitivity_at_specificity as sensitivity_at_specificity,
    )
    from medfed.evaluation.instance_scores import (
        INSTANCE_DEFINITIONS as INSTANCE_DEFINITIONS,
    )
    from medfed.evaluation.instance_scores import (
        InstanceScores as InstanceScores,
    )
    from medfed.evaluation.instance_scores import (
        instance_scores as instance_scores,
    )
    from medfed.evaluation.label_scores import (
        LabelScores as LabelScores,
    )
    from medfed.evaluation.object_scores import (
        MatchedObjects as MatchedObjects,
    )
    from medfed.evaluation.object_scores import (
        matched_object_scores as matched_object_scores,
    )
    from medfed.evaluation.object_scores import (
        object_dice as object_dice,
    )
    from medfed.evaluation.object_scores import (
        object_hausdorff as object_hausdorff,
    )
    from medfed.evaluation.overlap import (
        Counts as Counts,
    )
    from medfed.evaluation.overlap import (
        counts as counts,
    )
    from medfed.evaluation.overlap import (
        dice as dice,
    )
    from medfed.evaluation.overlap import (
        iou as iou,
    )
    from medfed.evaluation.overlap import (
        precision as precision,
    )
    from medfed.evaluation.overlap import (
        sensitivity as sensitivity,
    )
    from medfed.evaluation.overlap import (
        specificity as specificity,
    )
    from medfed.evaluation.panoptic import (
        PanopticQuality as PanopticQuality,
    )
    from medfed.evaluation.panoptic import (
        panoptic_quality as panoptic_quality,
    )
    from medfed.evaluation.presets import (
        PRESETS as PRESETS,
    )
    from medfed.evaluation.presets import (
        Preset as Preset,
    )
    from medfed.evaluation.presets import (
        preset as preset,
    )
    from medfed.evaluation.summary import (
        Summary as Summary,
    )
    from medfed.evaluation.summary import (
        summarise as summarise,
    )
    from medfed.evaluation.surface import (
        SurfaceDistances as SurfaceDistances,
    )
    from medfed.evaluation.surface import (
        average_surface_distance as average_surface_distance,
    )
    from medfed.evaluation.surface import (
        hausdorff as hausdorff,
    )
    from medfed.evaluation.surface import (
        hd95 as hd95,
    )
    from medfed.evaluation.surface import (
        surface_dice as surface_dice,
    )
    from medfed.evaluation.surface import (
        surface_distances as surface_distances,
    )

_HOME = {
    "absence": ("OUTCOMES", "Outcome"),
    "aggregated_jaccard": ("AJI_DEFINITIONS", "aji", "aji_plus"),
    "bootstrap": ("AurocInterval", "Interval", "bootstrap_auroc", "bootstrap_interval"),
    "calibration": ("Reliability", "brier", "calibration_error", "reliability_curve"),
    "case_scores": ("DEFINITIONS", "RegionScores", "score_case", "score_mask"),
    "checks": ("InputError",),
    "classification": (
        "Curve",
        "auprc",
        "auroc",
        "pr_curve",
        "roc_curve",
        "sensitivity_at_specificity",
    ),
    "instance_scores": ("INSTANCE_DEFINITIONS", "InstanceScores", "instance_scores"),
    "label_scores": ("LabelScores",),
    "object_scores": ("MatchedObjects", "matched_object_scores", "object_dice", "object_hausdorff"),
    "overlap": ("Counts", "counts", "dice", "iou", "precision", "sensitivity", "specificity"),
    "panoptic": ("PanopticQuality", "panoptic_quality"),
    "presets": ("PRESETS", "Preset", "preset"),
    "summary": ("Summary", "summarise"),
    "surface": (
        "SurfaceDistances",
        "average_surface_distance",
        "hausdorff",
        "hd95",
        "surface_dice",
        "surface_distances",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
