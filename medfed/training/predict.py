"""Logits of a trained network."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from medfed.training.batches import load, plain_batches

__all__ = ["predict_logits", "predict_subset"]


def predict_logits(
    network: nn.Module,
    dataset: "Dataset[dict[str, Any]]",
    *,
    batch_size: int = 64,
    progress: Callable[[int, int], None] | None = None,
) -> Tensor:
    """Logits (N, C) float32 on the CPU of a dataset's images, in evaluation mode.

    Args:
        network: image (B, K, S, S) to logits (B, C); stays on its device and keeps its mode.
        dataset: items with an `image`.
        batch_size: images computed at once.
        progress: told the batches done and their number.
    """
    cases = np.arange(len(dataset))  # type: ignore[arg-type]
    return predict_subset(network, dataset, cases, batch_size=batch_size, progress=progress)


def predict_subset(
    network: nn.Module,
    dataset: "Dataset[dict[str, Any]]",
    cases: np.ndarray,
    *,
    batch_size: int,
    progress: Callable[[int, int], None] | None = None,
) -> Tensor:
    """Logits (len(cases), C) of some of a dataset's images."""
    was_training = network.training
    device = next(network.parameters()).device
    network.eval()
    batches = plain_batches(cases, batch_size)
    found: list[Tensor] = []
    try:
        with torch.no_grad():
            for batch in batches:
                logits = network(load(dataset, batch)["image"].to(device))
                found.append(logits.float().cpu())
                if progress is not None:
                    progress(len(found), len(batches))
    finally:
        network.train(was_training)
    return torch.cat(found) if found else torch.zeros(0, 0)
