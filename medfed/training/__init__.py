"""Training: a network and cases in, a network trained to completion out."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medfed.training.compute import compute_with
    from medfed.training.distillation import Distilled, EpochRow, distil
    from medfed.training.predict import predict_logits
    from medfed.training.supervised import TrainingResult, train_to_completion

__all__ = [
    "Distilled",
    "EpochRow",
    "TrainingResult",
    "compute_with",
    "distil",
    "predict_logits",
    "train_to_completion",
]

_HOMES = {
    "Distilled": "distillation",
    "EpochRow": "distillation",
    "TrainingResult": "supervised",
    "compute_with": "compute",
    "distil": "distillation",
    "predict_logits": "predict",
    "train_to_completion": "supervised",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - torch is imported when first needed
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
