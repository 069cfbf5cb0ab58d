"""How far to trust a site's answer for one case, and a head's temperature.

FedKD weighs a site by class alone (eq. 1). Where the sites' classes are disjoint, a site is asked
about cases of classes it has never seen; a confidence for each case is this product's own addition.
Axes: N cases, C classes.
"""

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from medfed.errors import DataError

__all__ = ["Kind", "against_outlier", "entropy_confidence", "fit_temperature", "outlier_confidence"]

Kind = Literal["multi_label", "single_label"]

_COLDEST, _HOTTEST = 0.25, 8.0
_GOLDEN = (math.sqrt(5) - 1) / 2
_SEARCH_STEPS = 60


def entropy_confidence(logits: Tensor, labelled: Tensor, kind: Kind) -> Tensor:
    """1 minus the normalised entropy of the answer over the site's own classes.

    Args:
        logits: (N, C).
        labelled: (C,) bool, the classes that the site annotates.
        kind: softmax entropy over log of their number, or the mean binary entropy over log 2.

    Returns:
        (N,) float32 in [0, 1]; 1 for a single-label site of one class, whose entropy says nothing;
        0 for a site of none.
    """
    own = logits[:, labelled].double()
    if own.shape[1] == 0:
        return torch.zeros(len(logits))
    if kind == "single_label":
        log_p = own.log_softmax(1)
        entropy = -(log_p.exp() * log_p).sum(1) / math.log(max(own.shape[1], 2))
    else:
        pair = torch.stack([own, -own])
        entropy = -(pair.sigmoid() * functional.logsigmoid(pair)).sum(0).mean(1) / math.log(2)
    return (1 - entropy).clamp(0, 1).float()


def outlier_confidence(outlier_logit: Tensor, logits: Tensor) -> Tensor:
    """1 - p(none of my classes), by the softmax over the site's classes and the outlier.

    The head has one logit more than the classes, trained with public images as "none of mine".

    Args:
        outlier_logit: (N,).
        logits: (N, C) of the site's own classes.

    Returns:
        (N,) in [0, 1].
    """
    return torch.sigmoid(torch.logsumexp(logits, dim=1) - outlier_logit)


def against_outlier(
    logits: Tensor, outlier_logit: Tensor, *, public: Tensor, bound: float
) -> Tensor:
    """Single-label logits made comparable between sites: z^c - z^outlier, standardised.

    A softmax fixes logits only up to a number for each case, which differs from site to site; where
    one site alone owns a class, a weight for each case cancels out of the mean and cannot help.
    z^c - z^outlier estimates log p(x, class c) - log p(x among the public images) + constant, and
    all sites measure against the same public images. Far from the site's own images it falls below
    the bound everywhere, so each class is moved and scaled to mean 0 and deviation bound / 4 on the
    public set.

    Args:
        logits: (N, C).
        outlier_logit: (N,).
        public: (P, C) z^c - z^outlier on the public set.
        bound: B, in logits.

    Returns:
        (N, C).
    """
    if len(public) < 2:
        raise DataError("Standardising on the public set needs 2 images or more.")
    spread = public.std(dim=0).clamp(min=1e-6)
    return (logits - outlier_logit[:, None] - public.mean(dim=0)) / spread * (bound / 4)


def fit_temperature(logits: Tensor, labels: Tensor, kind: Kind) -> float:
    """The temperature T that makes `logits / T` best calibrated on the site's validation cases.

    Golden-section search of the negative log-likelihood, which is convex in 1/T.

    Args:
        logits: (N, C).
        labels: (N, C) int8: 1 positive, 0 negative, -1 unknown (left out); one-hot rows
            for `single_label`.
        kind: whether a case has one class or any number.

    Returns:
        T in [0.25, 8]; 1 when no case is labelled.
    """
    if logits.shape != labels.shape:
        raise DataError("Logits and labels differ in shape, so a temperature cannot be fitted.")
    logits = logits.detach().double()
    positive, known = labels == 1, labels >= 0
    if kind == "single_label":
        rows = positive.any(1)
        logits, target = logits[rows].masked_fill(~known[rows], -math.inf), positive[rows].int()
        target = target.argmax(1)
    else:
        logits, target = logits[known], positive[known].double()
    if target.numel() == 0:
        return 1.0

    def nll(log_t: float) -> float:
        scaled = logits / math.exp(log_t)
        if kind == "single_label":
            return functional.cross_entropy(scaled, target).item()
        return functional.binary_cross_entropy_with_logits(scaled, target).item()

    low, high = math.log(_COLDEST), math.log(_HOTTEST)
    for _ in range(_SEARCH_STEPS):
        span = _GOLDEN * (high - low)
        left, right = high - span, low + span
        if nll(left) <= nll(right):
            high = right
        else:
            low = left
    return min(max(math.exp((low + high) / 2), _COLDEST), _HOTTEST)
