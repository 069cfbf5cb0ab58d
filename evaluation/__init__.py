"""Evaluation: predictions and references in, scores out. Needs neither NVFlare nor torch.

Every function takes the prediction first and the reference second. Names are loaded on first use,
so that importing this package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medfed.evaluation.bootstrap import AurocInterval as AurocInterval
    from medfed.evaluation.bootstrap import Interval as Interval
    from medfed.evaluation.bootstrap import bootstrap_auroc as bootstrap_auroc
    from medfed.evaluation.bootstrap import bootstrap_interval as bootstrap_interval
    from medfed.evaluation.calibration import brier as brier
    from medfed.evaluation.calibration import calibration_error as calibration_error
    from medfed.evaluation.calibration import reliability_curve as reliability_curve
    from medfed.evaluation.checks import InputError as InputError
    from medfed.evaluation.classification import auprc as auprc
    from medfed.evaluation.classification import auroc as auroc
    from medfed.evaluation.classification import pr_curve as pr_curve
    from medfed.evaluation.classification import roc_curve as roc_curve
    from medfed.evaluation.classification import (
        sensitivity_at_specificity as sensitivity_at_specificity,
    )
    from medfed.evaluation.label_scores import LabelScores as LabelScores
    from medfed.evaluation.summary import Summary as Summary
    from medfed.evaluation.summary import summarise as summarise

_HOME = {
    "bootstrap": ("AurocInterval", "Interval", "bootstrap_auroc", "bootstrap_interval"),
    "calibration": ("brier", "calibration_error", "reliability_curve"),
    "checks": ("InputError",),
    "classification": ("auprc", "auroc", "pr_curve", "roc_curve", "sensitivity_at_specificity"),
    "label_scores": ("LabelScores",),
    "summary": ("Summary", "summarise"),
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
