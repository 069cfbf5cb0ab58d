"""Randomness from names: a seed and the names of a draw in, a generator out.

Seeds are derived from names, so adding a draw somewhere moves no other draw, and the same job gives
the same numbers in every environment and on every machine.
"""

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

__all__ = ["derive", "generator", "torch_generator"]


def derive(seed: int, *names: str | int) -> int:
    """A 63-bit seed for one named draw.

    Args:
        seed: the run's seed.
        names: what the draw is for, such as site, phase and epoch.

    >>> derive(7, "site-1", "init") == derive(7, "site-1", "init")
    True
    >>> derive(7, "site-1", "init") == derive(7, "site-2", "init")
    False
    """
    text = "\x1f".join([str(int(seed)), *(f"{type(n).__name__}:{n}" for n in names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """A numpy generator for one named draw (PCG64)."""
    return np.random.Generator(np.random.PCG64(derive(seed, *names)))


def torch_generator(seed: int, *names: str | int) -> "torch.Generator":
    """A CPU torch generator for one named draw."""
    import torch

    return torch.Generator().manual_seed(derive(seed, *names))
