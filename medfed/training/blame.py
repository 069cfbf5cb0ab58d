"""Which cases made a loss non-finite; for the hospital's eyes only."""

from collections.abc import Sequence

import torch
from torch import Tensor

from medfed.training.batches import Batch

__all__ = ["blame"]

NAMED = 10  # most case names in one error


def blame(batch: Batch, logits: Tensor, names: Sequence[str]) -> str:
    """Names the cases with a non-finite image, else with non-finite logits, else the batch's.

    Args:
        batch: with `image` and `index`.
        logits: (B, C) of the batch.
        names: the cases' local names, by index.
    """
    bad, what = _non_finite(batch["image"]), "image"
    if not bool(bad.any()):
        bad, what = _non_finite(logits), "output"
    if not bool(bad.any()):
        bad, what = torch.ones_like(bad), "loss"
    cases = sorted(set(batch["index"][bad].tolist()))
    named = [names[i] if i < len(names) else f"case {i}" for i in cases]
    more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
    return (
        f"The loss became NaN or infinite: the {what} of {', '.join(named[:NAMED])}{more} is not "
        "finite. Check these images, or lower the learning rate."
    )


def _non_finite(values: Tensor) -> Tensor:
    """(B,) bool: the rows with a NaN or an infinity."""
    return ~torch.isfinite(values.detach()).flatten(1).all(dim=1)
