"""Batches: which cases, in which order, and how they are varied; all of it from the seed."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from medfed.seeds import generator, torch_generator

__all__ = ["Batch", "epoch_batches", "flip_shift", "load", "plain_batches"]

Batch = dict[str, Tensor]


def epoch_batches(cases: np.ndarray, size: int, *, seed: int, epoch: int) -> list[np.ndarray]:
    """One epoch's batches of case indices, shuffled by (seed, epoch).

    A last batch of one case joins the batch before it, and a set of one case is taken twice, since
    batch norm needs two values per channel.
    """
    order = generator(seed, "order", epoch).permutation(cases)
    if len(order) == 1:
        return [np.repeat(order, 2)]
    batches = plain_batches(order, size)
    if len(batches) > 1 and len(batches[-1]) == 1 and size > 1:
        batches[-2:] = [np.concatenate(batches[-2:])]
    return batches


def plain_batches(cases: np.ndarray, size: int) -> list[np.ndarray]:
    """Batches of case indices in the order given."""
    return [cases[start : start + size] for start in range(0, len(cases), size)]


def load(dataset: "Dataset[dict[str, Any]]", cases: np.ndarray) -> Batch:
    """The cases' items stacked: image (B, K, S, S) and, where the items have them, label and known."""
    items = [dataset[int(case)] for case in cases]
    keys = [key for key in ("image", "label", "known") if key in items[0]]
    return {
        "index": torch.from_numpy(np.asarray(cases, dtype=np.int64)),
        **{key: torch.stack([item[key] for item in items]) for key in keys},
    }


def flip_shift(image: Tensor, *, seed: int, epoch: int, batch: int) -> Tensor:
    """Every image mirrored by chance and shifted by up to an eighth; edge pixels fill the gap.

    Args:
        image: (B, K, H, W).
        seed: the run's seed.
        epoch: counted from 1.
        batch: counted from 0 within the epoch.

    Returns:
        A new tensor of the same shape.
    """
    draws = torch_generator(seed, "augment", epoch, batch)
    count, channels, height, width = image.shape
    flips = torch.rand(count, generator=draws) < 0.5
    down = torch.randint(-(height // 8), height // 8 + 1, (count, 1), generator=draws)
    across = torch.randint(-(width // 8), width // 8 + 1, (count, 1), generator=draws)
    rows = (torch.arange(height) + down).clamp(0, height - 1)
    columns = (torch.arange(width) + across).clamp(0, width - 1)
    columns = torch.where(flips[:, None], width - 1 - columns, columns)
    return image[
        torch.arange(count)[:, None, None, None],
        torch.arange(channels)[None, :, None, None],
        rows[:, None, :, None],
        columns[:, None, None, :],
    ]
