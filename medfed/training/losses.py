"""Losses of labelled cases, over the known labels only."""

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import Dataset

__all__ = ["Kind", "class_weights", "label_loss"]

Kind = Literal["multi_label", "single_label"]
HEAVIEST = 100.0  # bounds the weight of a class with very few positives


def label_loss(
    logits: Tensor, label: Tensor, known: Tensor, *, kind: Kind, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """A batch's loss as (sum, weight), so that batches add up to a mean over known labels.

    Multi-label: binary cross-entropy of every known entry, positives times their class weight.
    Single-label: cross-entropy of every row with a known class, times the class weight.

    Args:
        logits: (B, C) float32.
        label: (B, C) in {0, 1}.
        known: (B, C) bool.
        kind: the task's kind.
        weights: (C,) class weights.
    """
    if kind == "multi_label":
        entries = functional.binary_cross_entropy_with_logits(
            logits, label, pos_weight=weights, reduction="none"
        )
        return torch.where(known, entries, 0.0).sum(), known.sum().to(logits.dtype)
    rows = label * weights * known
    log_odds = functional.log_softmax(logits, dim=1)
    return -(torch.where(rows > 0, rows * log_odds, 0.0)).sum(), rows.sum()


def class_weights(dataset: "Dataset[dict[str, Any]]", *, kind: Kind) -> Tensor:
    """Inverse-frequency weights (C,), 1 for a class without positives.

    Multi-label: known negatives per positive. Single-label: cases per case of the class, over the
    number of classes that are present.
    """
    positives, known = _counts(dataset)
    if kind == "multi_label":
        weights = (known - positives) / np.maximum(positives, 1)
    else:
        present = max(int((positives > 0).sum()), 1)
        weights = positives.sum() / (present * np.maximum(positives, 1))
    weights = np.where(positives > 0, np.clip(weights, 1 / HEAVIEST, HEAVIEST), 1.0)
    return torch.from_numpy(weights.astype(np.float32))


def _counts(dataset: "Dataset[dict[str, Any]]") -> tuple[np.ndarray, np.ndarray]:
    """Positives and known labels per class, from the label table where there is one."""
    cases = getattr(dataset, "cases", None)
    if cases is not None:
        labels = np.asarray(cases.labels)
        return (labels == 1).sum(axis=0), (labels >= 0).sum(axis=0)
    items = [dataset[i] for i in range(len(dataset))]  # type: ignore[arg-type]
    label = torch.stack([item["label"] for item in items])
    known = torch.stack([item["known"] for item in items])
    return ((label > 0) & known).sum(dim=0).numpy(), known.sum(dim=0).numpy()
