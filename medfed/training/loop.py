"""The one training loop: epochs, the best weights, early stopping, checkpoints, resuming."""

import copy
import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from medfed.errors import ConfigError, DataError, NonFiniteError, Stopped
from medfed.seeds import derive
from medfed.training.batches import Batch, epoch_batches, flip_shift, load
from medfed.training.blame import blame
from medfed.training.checkpoint import read_checkpoint, save_checkpoint

__all__ = ["Plan", "Progress", "identity_of", "run"]

_FRESH: dict[str, Any] = {"epoch": 0, "best": [], "history": [], "seconds": 0.0, "done": False}


class _Params(Protocol):
    """What the loop reads of TrainingParams and DistillationParams."""

    @property
    def epochs(self) -> int: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def augment(self) -> str: ...
    @property
    def mixed_precision(self) -> bool: ...


@dataclass(frozen=True)
class Plan:
    """All that differs between two trainings.

    Attributes:
        network: trained in place.
        optimiser: of the network's parameters, on their device.
        dataset: items with an `image` and what `loss` reads.
        cases: indices of the cases trained on.
        params: epochs, batch size, augmentation and precision.
        seed: orders, augmentation and dropout come from it.
        identity: hash of all settings; a checkpoint of another identity is refused.
        folder: where the checkpoint stands.
        progress: told the batches done and the batches planned.
        stop: true when the run was asked to stop.
        loss: logits and batch to (sum, weight); a batch of weight 0 is passed over.
        score: the mean training loss to the epoch's score; the lowest is the best.
        record: told each epoch, its mean training loss and its score.
        patience: epochs without a better score before the stop.
        keep: how many of the best weights are kept.
        names: the cases' local names, for an error's local text.
    """

    network: nn.Module
    optimiser: torch.optim.Optimizer
    dataset: "Dataset[dict[str, Any]]"
    cases: np.ndarray
    params: _Params
    seed: int
    identity: str
    folder: Path
    progress: Callable[[int, int], None]
    stop: Callable[[], bool]
    loss: Callable[[Tensor, Batch], tuple[Tensor, Tensor]]
    score: Callable[[float], float]
    record: Callable[[int, float, float], None]
    patience: int
    keep: int
    names: Sequence[str] = field(default=())


@dataclass(frozen=True, slots=True)
class Progress:
    """A finished training: `best` holds {score, epoch, state} best first, `history` the epochs."""

    epochs: int
    seconds: float
    best: list[dict[str, Any]]
    history: list[tuple[float, float]]


def identity_of(network: nn.Module, *settings: object) -> str:
    """A hash of a training's settings and of its network's shapes."""
    shapes = [(key, tuple(value.shape)) for key, value in network.state_dict().items()]
    return hashlib.sha256(repr((shapes, settings)).encode()).hexdigest()


def run(plan: Plan) -> Progress:
    """Train to completion, going on from the folder's checkpoint; the best weights are left.

    Raises:
        Stopped: asked to stop; the epochs finished before are saved.
        NonFiniteError: a loss became NaN or infinite; the local text names the cases.
        CheckpointError: the folder's checkpoint cannot be used.
        ConfigError: batches of one case with a network that has batch norm.
        DataError: there is nothing to train on.
    """
    _check(plan)
    saved = read_checkpoint(plan.folder, identity=plan.identity)
    state = copy.deepcopy(_FRESH) if saved is None else saved
    if saved is not None and not saved["done"]:
        plan.network.load_state_dict(saved["network"])
        plan.optimiser.load_state_dict(saved["optimiser"])
    started = time.perf_counter() - state["seconds"]
    while not state["done"]:
        epoch = state["epoch"] + 1
        loss = _epoch(plan, epoch)
        _judge(plan, state, epoch, loss)
        state["seconds"] = time.perf_counter() - started
        _save(plan, state)
    plan.network.load_state_dict(state["best"][0]["state"])
    total = _planned(plan)
    plan.progress(total, total)
    history = [(float(loss), float(score)) for loss, score in state["history"]]
    return Progress(state["epoch"], state["seconds"], state["best"], history)


def _check(plan: Plan) -> None:
    if len(plan.cases) == 0:
        raise DataError("There is no case to train on.")
    batch_norm = any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in plan.network.modules())
    if plan.params.batch_size == 1 and batch_norm:
        raise ConfigError(
            "batch_size is 1 but the network has batch norm, which needs batches of 2 or more. "
            "Raise batch_size, or use the network small_cnn."
        )


def _planned(plan: Plan) -> int:
    first = epoch_batches(plan.cases, plan.params.batch_size, seed=plan.seed, epoch=1)
    return plan.params.epochs * len(first)


def _epoch(plan: Plan, epoch: int) -> float:
    """Train one epoch; returns its mean loss."""
    device = next(plan.network.parameters()).device
    batches = epoch_batches(plan.cases, plan.params.batch_size, seed=plan.seed, epoch=epoch)
    total, weight = 0.0, 0.0
    plan.network.train()
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.random.manual_seed(derive(plan.seed, "dropout", epoch))
        for number, cases in enumerate(batches):
            if plan.stop():
                raise Stopped(f"Stopped in epoch {epoch}; {epoch - 1} finished epochs are saved.")
            batch = load(plan.dataset, cases)
            if plan.params.augment == "flip_shift":
                batch["image"] = flip_shift(
                    batch["image"], seed=plan.seed, epoch=epoch, batch=number
                )
            batch = {key: value.to(device) for key, value in batch.items()}
            batch_sum, batch_weight = _step(plan, batch)
            total, weight = total + batch_sum, weight + batch_weight
            plan.progress(
                (epoch - 1) * len(batches) + number + 1, len(batches) * plan.params.epochs
            )
    if weight == 0:
        raise DataError("No case to train on has a known label.")
    return total / weight


def _step(plan: Plan, batch: Batch) -> tuple[float, float]:
    """One step of the optimiser; returns the batch's loss as (sum, weight)."""
    device = batch["image"].device
    with torch.autocast(
        device.type,
        dtype=torch.bfloat16,
        enabled=plan.params.mixed_precision and device.type == "cuda",
    ):
        logits = plan.network(batch["image"])
    logits = logits.float()
    loss, weight = plan.loss(logits, batch)
    if not (math.isfinite(float(loss.detach())) and bool(torch.isfinite(logits).all())):
        raise NonFiniteError(blame(batch, logits, plan.names))
    if float(weight) == 0:
        return 0.0, 0.0
    plan.optimiser.zero_grad(set_to_none=True)
    (loss / weight).backward()  # type: ignore[no-untyped-call]
    plan.optimiser.step()
    return float(loss.detach()), float(weight)


def _judge(plan: Plan, state: dict[str, Any], epoch: int, loss: float) -> None:
    """Score the epoch, keep its weights if they are among the best, and decide whether to go on."""
    score = plan.score(loss)
    if not math.isfinite(score):
        raise NonFiniteError(
            f"The validation score of epoch {epoch} is NaN or infinite. Check the validation "
            "images, or lower the learning rate."
        )
    best = state["best"]
    if len(best) < plan.keep or score < best[-1]["score"]:
        weights = {k: v.detach().cpu().clone() for k, v in plan.network.state_dict().items()}
        best.append({"score": score, "epoch": epoch, "state": weights})
        best.sort(key=lambda kept: (kept["score"], kept["epoch"]))
        del best[plan.keep :]
    state["history"].append((loss, score))
    state["epoch"] = epoch
    waited = epoch - best[0]["epoch"]
    state["done"] = epoch >= plan.params.epochs or waited >= plan.patience
    plan.record(epoch, loss, score)


def _save(plan: Plan, state: dict[str, Any]) -> None:
    """Save the epoch; a finished training needs its best weights only."""
    running = (
        {}
        if state["done"]
        else {"network": plan.network.state_dict(), "optimiser": plan.optimiser.state_dict()}
    )
    kept = {key: state[key] for key in _FRESH}
    save_checkpoint(plan.folder, {**kept, **running}, identity=plan.identity)
