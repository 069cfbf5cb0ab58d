"""Class importance: how much each site's answer for a class weighs (FedKD, eq. 1).

ω_k^c = N_k^c / Σ_j N_j^c, where N_k^c counts the cases of class c at site k. What is counted
(positives, annotated cases, all cases, or 1 each) is the caller's choice.
Axes: K sites, C classes.
"""

import torch
from torch import Tensor

from medfed.errors import DataError

__all__ = ["class_importance", "dropped_classes"]


def class_importance(counts: Tensor) -> Tensor:
    """Eq. 1; a class that no site counts has importance 0 everywhere instead of 0/0.

    Args:
        counts: (K, C) N_k^c of the sites that take part, none negative.

    Returns:
        (K, C) float64; each column sums to 1, or is 0 for a dropped class.
    """
    counts = _checked(counts)
    totals = counts.sum(dim=0)
    return counts / torch.where(totals > 0, totals, torch.ones_like(totals))


def dropped_classes(counts: Tensor) -> Tensor:
    """(C,) bool: the classes that no site counts; they leave the loss and the report."""
    return _checked(counts).sum(dim=0) == 0


def _checked(counts: Tensor) -> Tensor:
    counts = counts.to(torch.float64)
    if counts.ndim != 2 or not bool(torch.isfinite(counts).all()) or bool((counts < 0).any()):
        raise DataError("Class counts must be a (sites, classes) table of numbers of 0 or more.")
    return counts
