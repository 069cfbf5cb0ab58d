"""Logits to S levels and back (FedKD, eq. 3 and 4). Axes: N cases, C classes.

The levels are q_s = 2(s - 1) B / (S - 1) - B for s = 1..S, a step Δ = 2B / (S - 1) apart; an index
is s - 1. Two ways of choosing a level:

- `public_bound`: B is a public constant; a logit is clipped to [-B, B] and goes to the nearest
  level. The error of a logit within the bound is at most Δ/2 and its mean is about 0.
- `paper`: B is z_max, the largest |logit| of all sites; q_s stands for (q_{s-1}, q_s], that is, a
  logit rounds up. The error lies in [0, Δ) and its mean is about Δ/2.
"""

import math
from typing import Literal

import torch
from torch import Tensor

from medfed.errors import ConfigError, NonFiniteError

__all__ = ["Mode", "dequantise", "quantise"]

Mode = Literal["public_bound", "paper"]

_CHUNK = 1 << 16  # logits at a time: they stay in a core's cache


def quantise(logits: Tensor, *, levels: int, bound: float, mode: Mode) -> Tensor:
    """The level index of every logit.

    Args:
        logits: (N, C) float32.
        levels: S, 2 or more.
        bound: B, in logits; 0 only in the paper's mode, when every logit is 0.
        mode: `public_bound` or `paper`, as above.

    Returns:
        (N, C) indices in 0..S-1: uint8 up to 256 levels, else int32.

    Raises:
        NonFiniteError: a logit is NaN or infinite.
    """
    _check(levels, bound)
    if bound == 0 and mode == "public_bound":
        raise ConfigError("quantise: the public bound must be above 0.")
    flat = logits.detach().contiguous().view(-1)
    indices = torch.empty(flat.shape, dtype=torch.uint8 if levels <= 256 else torch.int32)
    round_chunk = _nearest if mode == "public_bound" else _upwards
    for chunk, out in zip(torch.split(flat, _CHUNK), torch.split(indices, _CHUNK), strict=True):
        if chunk.numel() and not all(math.isfinite(end) for end in torch.aminmax(chunk)):
            raise NonFiniteError("A logit is NaN or infinite; the network's training diverged.")
        out.copy_(round_chunk(chunk, levels, bound))
    return indices.view(logits.shape)


def dequantise(indices: Tensor, *, levels: int, bound: float) -> Tensor:
    """The level q_s of every index.

    Args:
        indices: (N, C) integers in 0..S-1, as `quantise` or `packing.unpack` gives them.
        levels: S.
        bound: B, in logits.

    Returns:
        (N, C) float32 logits in [-B, B].
    """
    _check(levels, bound)
    flat = indices.contiguous().view(-1)
    logits = torch.empty(flat.shape, dtype=torch.float32)
    for chunk, out in zip(torch.split(flat, _CHUNK), torch.split(logits, _CHUNK), strict=True):
        out.copy_(chunk).mul_(2 * bound / (levels - 1)).sub_(bound).clamp_(-bound, bound)
    return logits.view(indices.shape)


def _nearest(logits: Tensor, levels: int, bound: float) -> Tensor:
    steps = logits.mul((levels - 1) / (2 * bound)).add_((levels - 1) / 2)  # from -B, in units of Δ
    return steps.round_().clamp_(0, levels - 1)


def _upwards(logits: Tensor, levels: int, bound: float) -> Tensor:
    if bound == 0:
        return torch.zeros_like(logits)
    steps = logits.double().clamp_(-bound, bound).add_(bound).mul_((levels - 1) / (2 * bound))
    # A float32 level can lie this many steps above its exact value and must still keep its index.
    return steps.sub_((levels - 1) * 2.0**-22).ceil_().clamp_(0, levels - 1)


def _check(levels: int, bound: float) -> None:
    if not 2 <= levels <= 1 << 24:
        raise ConfigError(f"levels is {levels}; a quantiser needs 2 to {1 << 24}.")
    if not (math.isfinite(bound) and bound >= 0):
        raise ConfigError(f"bound is {bound}; it must be finite and not negative.")
