"""A site's training on its own labelled cases."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from medfed.job import TrainingParams
from medfed.training.batches import Batch, load, plain_batches
from medfed.training.compute import device_of
from medfed.training.loop import Plan, identity_of, run
from medfed.training.losses import Kind, class_weights, label_loss

__all__ = ["TrainingResult", "train_to_completion"]


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """How a training ended: epochs run, seconds over all sittings, and the best epoch (from 1)."""

    epochs: int
    seconds: float
    best_epoch: int
    best_loss: float


def train_to_completion(
    network: nn.Module,
    train: "Dataset[dict[str, Any]]",
    validation: "Dataset[dict[str, Any]]",
    params: TrainingParams,
    *,
    kind: Kind,
    seed: int,
    folder: Path,
    progress: Callable[[int, int], None],
    stop: Callable[[], bool],
    names: Sequence[str],
    device: str = "cpu",
) -> TrainingResult:
    """Train until the validation loss no longer falls; the best weights are left in `network`.

    A call with the same arguments goes on where the last one ended, bit for bit as if it had never
    been interrupted, and returns at once after completion.

    Args:
        network: images (B, K, S, S) to logits (B, C).
        train: items of image, label (C,), known (C,) bool and index.
        validation: likewise; without a known label the training loss decides instead.
        params: epochs, batches, optimiser, patience, class weighting, augmentation.
        kind: multi-label (masked binary cross-entropy) or single-label (cross-entropy).
        seed: order, augmentation and dropout come from it.
        folder: holds the checkpoint.
        progress: told the batches done and the batches planned.
        stop: true when the run was asked to stop.
        names: local names of the training cases, for the local text of an error.
        device: "auto", "cpu" or "cuda".

    Raises:
        Stopped: asked to stop; finished epochs are kept.
        NonFiniteError: a loss became NaN or infinite.
        CheckpointError: the folder's checkpoint is damaged or of another training.
        DataError: no training case has a known label.
        ConfigError: no such device, or batches of one with batch norm.
    """
    where = device_of(device)
    network.to(where)
    count = len(train)  # type: ignore[arg-type]
    sizes = (count, len(validation))  # type: ignore[arg-type]
    inverse = params.class_weighting == "inverse" and count > 0
    weights = class_weights(train, kind=kind).to(where) if inverse else torch.ones(1, device=where)

    def loss(logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        return label_loss(logits, batch["label"], batch["known"], kind=kind, weights=weights)

    def score(train_loss: float) -> float:
        found = _mean_loss(network, validation, loss, params.batch_size)
        return train_loss if found is None else found

    plan = Plan(
        network=network,
        optimiser=_optimiser(network, params),
        dataset=train,
        cases=np.arange(count),
        params=params,
        seed=seed,
        identity=identity_of(network, "train", params.model_dump(), kind, seed, sizes, *names),
        folder=folder,
        progress=progress,
        stop=stop,
        loss=loss,
        score=score,
        record=lambda epoch, train_loss, validation_loss: None,
        patience=params.patience,
        keep=1,
        names=names,
    )
    done = run(plan)
    best = done.best[0]
    return TrainingResult(done.epochs, done.seconds, int(best["epoch"]), float(best["score"]))


def _optimiser(network: nn.Module, params: TrainingParams) -> torch.optim.Optimizer:
    if params.optimiser == "sgd":
        return torch.optim.SGD(
            network.parameters(),
            lr=params.learning_rate,
            momentum=0.9,
            weight_decay=params.weight_decay,
        )
    return torch.optim.Adam(
        network.parameters(), lr=params.learning_rate, weight_decay=params.weight_decay
    )


def _mean_loss(
    network: nn.Module,
    dataset: "Dataset[dict[str, Any]]",
    loss: Callable[[Tensor, Batch], tuple[Tensor, Tensor]],
    batch_size: int,
) -> float | None:
    """The mean loss over known labels in evaluation mode, or None without a known label."""
    device = next(network.parameters()).device
    total, weight = 0.0, 0.0
    network.eval()
    with torch.no_grad():
        for cases in plain_batches(np.arange(len(dataset)), batch_size):  # type: ignore[arg-type]
            batch = {key: value.to(device) for key, value in load(dataset, cases).items()}
            batch_sum, batch_weight = loss(network(batch["image"]).float(), batch)
            total, weight = total + float(batch_sum), weight + float(batch_weight)
    return total / weight if weight else None
