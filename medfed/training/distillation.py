"""The student's training: the sites' combined logits on public images are its targets."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from medfed.algorithms.fedkd import distillation_loss
from medfed.errors import DataError, NonFiniteError
from medfed.job import DistillationParams
from medfed.seeds import generator
from medfed.training.batches import Batch
from medfed.training.compute import device_of
from medfed.training.loop import Plan, Progress, identity_of, run
from medfed.training.losses import Kind
from medfed.training.predict import predict_subset

__all__ = ["Distilled", "EpochRow", "distil"]


@dataclass(frozen=True, slots=True)
class EpochRow:
    """One epoch (from 1): its mean training loss and the agreement on the held-out images."""

    epoch: int
    loss: float
    agreement: float


@dataclass(frozen=True, slots=True)
class Distilled:
    """A finished distillation: the best epoch, the best weights (best first), and every epoch."""

    best_epoch: int
    candidates: list[dict[str, Tensor]]
    epochs: list[EpochRow]


def distil(
    student: nn.Module,
    images: "Dataset[dict[str, Any]]",
    targets: Tensor,
    params: DistillationParams,
    *,
    kind: Kind,
    seed: int,
    folder: Path,
    progress: Callable[[int, int], None],
    stop: Callable[[], bool],
    record: Callable[[int, float, float], None],
    candidates: int,
    device: str = "cpu",
) -> Distilled:
    """Train the student on public images; the weights that agree best are left in it.

    Agreement is the Pearson correlation of the student's and the targets' logits per class, averaged
    over the classes, on public images held out at random by the seed. No label is used.

    Args:
        student: images (B, K, S, S) to logits (B, C).
        images: N items with an `image`.
        targets: (N, C) float32 combined logits; NaN in the columns of dropped classes.
        params: epochs, batches, loss, temperature, held-out share, augmentation.
        kind: the task's kind.
        seed: held-out images, order, augmentation and dropout come from it.
        folder: holds the checkpoint; a later call goes on from it bit for bit.
        progress: told the batches done and the batches planned.
        stop: true when the run was asked to stop.
        record: told each epoch, its mean loss and its agreement; after a crash the epoch that was
            not saved yet is told again.
        candidates: how many of the best weights are returned.
        device: "auto", "cpu" or "cuda".

    Raises:
        Stopped: asked to stop; finished epochs are kept.
        DataError: fewer than two images, a wrong number of targets, or no class is left.
        NonFiniteError: a target of a kept class, or a loss, is NaN or infinite.
        CheckpointError: the folder's checkpoint is damaged or of another training.
        ConfigError: no such device, or batches of one with batch norm.
    """
    known = _known_classes(targets, len(images))  # type: ignore[arg-type]
    held, trained = _held_out(len(targets), params.held_out_share, seed)
    where = device_of(device)
    student.to(where)
    teacher, mask = targets.to(where), known.to(where)

    def loss(logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        wanted = teacher[batch["index"]]
        mean = distillation_loss(
            logits,
            wanted,
            loss=params.loss,
            temperature=params.temperature,
            known=mask,
            kind=kind,
        )
        weight = torch.tensor(float(len(logits)), device=logits.device)
        return mean * weight, weight

    def score(_: float) -> float:
        logits = predict_subset(student, images, held, batch_size=params.batch_size)
        return -_agreement(logits[:, known], targets[held][:, known])

    plan = Plan(
        network=student,
        optimiser=torch.optim.Adam(
            student.parameters(), lr=params.learning_rate, weight_decay=params.weight_decay
        ),
        dataset=images,
        cases=trained,
        params=params,
        seed=seed,
        identity=identity_of(
            student, "distil", params.model_dump(), kind, seed, candidates, _digest(targets)
        ),
        folder=folder,
        progress=progress,
        stop=stop,
        loss=loss,
        score=score,
        record=lambda epoch, mean, found: record(epoch, mean, -found),
        patience=params.epochs,
        keep=candidates,
    )
    return _distilled(run(plan))


def _distilled(done: Progress) -> Distilled:
    rows = [EpochRow(i + 1, loss, -score) for i, (loss, score) in enumerate(done.history)]
    return Distilled(int(done.best[0]["epoch"]), [kept["state"] for kept in done.best], rows)


def _known_classes(targets: Tensor, count: int) -> Tensor:
    """(C,) bool: the classes whose targets are not NaN throughout."""
    if len(targets) != count or count < 2:
        raise DataError(
            f"Distillation needs two public images or more and one row of targets for each; there "
            f"are {count} images and {len(targets)} rows."
        )
    known = ~torch.isnan(targets).all(dim=0)
    if not bool(known.any()):
        raise DataError("Every class was dropped, so there is nothing to distil.")
    if not bool(torch.isfinite(targets[:, known]).all()):
        raise NonFiniteError("The combined logits of a kept class hold NaN or infinite values.")
    return known


def _held_out(count: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices held out for choosing and indices trained on; at least one each."""
    order = generator(seed, "held_out").permutation(count)
    size = min(max(round(share * count), 1), count - 1)
    return np.sort(order[:size]), np.sort(order[size:])


def _agreement(student: Tensor, teacher: Tensor) -> float:
    """Mean Pearson correlation over the classes whose targets vary; a constant output scores 0.

    Where no class's targets vary, as with a single held-out image, it is minus the mean squared
    difference.
    """
    one = student.double() - student.double().mean(dim=0)
    two = teacher.double() - teacher.double().mean(dim=0)
    varies = two.square().sum(dim=0) > 0
    if not bool(varies.any()):
        return -float((student.double() - teacher.double()).square().mean())
    scale = (one.square().sum(dim=0) * two.square().sum(dim=0)).sqrt()
    correlation = torch.where(scale == 0, 0.0, (one * two).sum(dim=0) / scale)
    return float(correlation[varies].mean())


def _digest(targets: Tensor) -> str:
    return hashlib.sha256(targets.detach().cpu().contiguous().numpy().tobytes()).hexdigest()
