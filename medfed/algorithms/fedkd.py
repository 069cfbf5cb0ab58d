"""FedKD's arithmetic: the weighted ensemble, its noise, and what the student learns from it.

Axes: N cases of the public set, C classes, K sites. Equations are those of the FedKD paper
(Gong et al., "Preserving Privacy in Federated Learning with Ensemble Cross-Domain Knowledge
Distillation", AAAI 2022). With ω from eq. 1 and Q from eq. 3, for each case and class

    ẑ^c = Σ_k ω_k^c Q(z^{ck}, S) + noise                                   (eq. 2 and 4)

and the student fits ẑ by L2 on logits (eq. 7) or by KL on probabilities (eq. 5 and 6).
"""

import math
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from medfed.algorithms.confidence import (
    Kind,
    entropy_confidence,
    fit_temperature,
    outlier_confidence,
)
from medfed.errors import DataError, NonFiniteError
from medfed.job import NoiseParams

__all__ = [
    "EnsembleSum",
    "Kind",
    "Loss",
    "add_noise",
    "distillation_loss",
    "entropy_confidence",
    "fit_temperature",
    "outlier_confidence",
]

Loss = Literal["l2", "l1", "kl", "bce"]

_LEAST_CONFIDENCE = (
    1e-6  # a case that every site disowns falls back to the mean by class importance
)


class EnsembleSum:
    """Eq. 2 without its noise, one site at a time; its memory does not depend on K.

    With confidences a_k,i the mean is Σ_k ω_k^c a_k,i z_i^{ck} / Σ_k ω_k^c a_k,i, which is eq. 2
    when all are 1 and the weights of a class sum to 1. Adding sites in one fixed order (by name)
    makes the sum the same to the last bit whichever site answered first.

    Args:
        cases: N.
        classes: C.
    """

    def __init__(self, cases: int, classes: int) -> None:
        self._logits = torch.zeros(cases, classes, dtype=torch.float64)
        self._weights = torch.zeros(cases, classes, dtype=torch.float64)
        self._known = torch.zeros(classes, dtype=torch.bool)

    def add(
        self, logits: Tensor, *, weights: Tensor, labelled: Tensor, confidence: Tensor | None
    ) -> None:
        """Adds one site.

        Args:
            logits: (N, C) float32, dequantised.
            weights: (C,) float64 ω_k, none negative; it needs no scaling.
            labelled: (C,) bool, the classes that the site annotates; the others weigh 0.
            confidence: (N,) a_k in [0, 1], or None for 1 everywhere.

        Raises:
            DataError: a shape, weight or confidence cannot be used.
            NonFiniteError: a logit that counts is NaN or infinite.
        """
        self._check(logits, weights, labelled, confidence)
        weights = torch.where(labelled, weights.double(), 0.0)
        counts = weights > 0
        values = torch.where(counts, logits.double(), 0.0)
        if not bool(torch.isfinite(values).all()):
            raise NonFiniteError("A site's logits hold NaN or infinity.")
        if confidence is None:
            self._weights += weights
            self._logits.addcmul_(values, weights)
        else:
            share = confidence.double().clamp(min=_LEAST_CONFIDENCE)[:, None] * weights
            self._weights += share
            self._logits.addcmul_(values, share)
        self._known |= counts

    def mean(self) -> Tensor:
        """(N, C) float32 ẑ before noise; NaN in the dropped classes."""
        return (self._logits / self._weights).masked_fill_(self.dropped, math.nan).float()

    @property
    def dropped(self) -> Tensor:
        """(C,) bool: the classes in which no site has weight."""
        return ~self._known

    def _check(
        self, logits: Tensor, weights: Tensor, labelled: Tensor, confidence: Tensor | None
    ) -> None:
        cases, classes = self._logits.shape
        if logits.shape != (cases, classes) or not (
            weights.shape == labelled.shape == (classes,) and labelled.dtype == torch.bool
        ):
            raise DataError(f"A site's answer is not for {cases} cases and {classes} classes.")
        if not bool(torch.isfinite(weights).all()) or bool((weights < 0).any()):
            raise DataError("A site's class weights must be numbers of 0 or more.")
        if confidence is not None and (
            confidence.shape != (cases,) or not bool(((confidence >= 0) & (confidence <= 1)).all())
        ):
            raise DataError(f"A site's confidences must be {cases} numbers between 0 and 1.")


def add_noise(logits: Tensor, params: NoiseParams, generator: torch.Generator) -> Tensor:
    """Eq. 2's noise, one draw a (case, class); call it once, never again for the same logits.

    Args:
        logits: (N, C); NaN stays NaN.
        params: the Laplace scale b = 1/γ by inverse CDF, or the Gaussian's standard deviation.
        generator: the only source of chance.

    Returns:
        (N, C) of the logits' dtype.
    """
    if params.mechanism == "none":
        return logits
    if params.mechanism == "gaussian":
        unit = torch.randn(logits.shape, generator=generator, dtype=torch.float64)
    else:
        uniform = torch.rand(logits.shape, generator=generator, dtype=torch.float64) - 0.5
        inside = (2 * uniform.abs()).clamp(max=1 - 2.0**-53)
        unit = -uniform.sign() * torch.log1p(-inside)
    return (logits.double() + params.scale * unit.to(logits.device)).to(logits.dtype)


def distillation_loss(
    student: Tensor, teacher: Tensor, *, loss: Loss, temperature: float, known: Tensor, kind: Kind
) -> Tensor:
    """What the student minimises over the known classes, a mean over the cases.

    `l2` (eq. 7) and `l1` are means over cases and classes of the logits' differences. `kl` of a
    single-label task is Σ_c p log(p/q) of the softmax at temperature T (eq. 5 and 6); of a
    multi-label task it is the mean over classes of the KL of sigmoids. `bce` is the cross-entropy
    of the same sigmoids. `kl` and `bce` are times T², so that their gradient keeps its size as T
    grows.

    Args:
        student: (N, C) logits.
        teacher: (N, C) ẑ; anything, NaN too, in the unknown classes.
        loss: one of the four.
        temperature: T, above 0; without effect on `l2` and `l1`.
        known: (C,) bool.
        kind: whether a case has one class or any number.

    Returns:
        A scalar.

    Raises:
        DataError: no class is known.
    """
    if not bool(known.any()):
        raise DataError("No site knows any class of the job, so there is nothing to distil.")
    student, teacher = student[:, known], teacher[:, known].detach()
    if loss == "l2":
        return functional.mse_loss(student, teacher)
    if loss == "l1":
        return functional.l1_loss(student, teacher)
    student, teacher = student / temperature, teacher / temperature
    if loss == "kl" and kind == "single_label":
        value = functional.kl_div(
            student.log_softmax(1), teacher.log_softmax(1), reduction="batchmean", log_target=True
        )
    else:
        target = teacher.sigmoid()
        value = functional.binary_cross_entropy_with_logits(student, target)
        if loss == "kl":
            value = value - functional.binary_cross_entropy_with_logits(teacher, target)
    return value * temperature**2
