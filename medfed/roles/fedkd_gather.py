"""FedKD's gathering of answers: one ensemble for each weighting, summed site by site in name order.

Axes: N public cases, C classes. Memory does not depend on the number of sites.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from medfed.algorithms import packing, quantisation
from medfed.algorithms.fedkd import EnsembleSum
from medfed.errors import WireError
from medfed.messages import LogitsUpload, Opened, Predict

__all__ = ["RULES", "Gathering", "site_logits", "weights_of"]

RULES = ("positives", "annotated", "samples", "uniform")


def weights_of(rule: str, opened: Opened) -> Tensor:
    """(C,) float64: how much a site weighs in each class under one rule; FedKD's N_k^c for "positives"."""
    known = torch.from_numpy(np.array(opened.annotated)).double()
    if rule == "positives":
        return torch.from_numpy(np.array(opened.positives)).double()
    if rule == "annotated":
        return known
    if rule == "samples":
        return torch.full_like(known, float(opened.samples))
    return torch.ones_like(known)


def site_logits(
    upload: LogitsUpload, asked: Predict, *, site: str, cases: int, classes: int
) -> Tensor:
    """A site's logits (N, C) float32; nan in classes it has no labels for.

    Raises:
        WireError: the answer is not for the question that was asked; names the site and the field.
    """
    wanted = {
        "question": asked.question,
        "levels": asked.levels,
        "bound": asked.bound,
        "cases": cases,
    }
    for name, value in wanted.items():
        if getattr(upload, name) != value:
            raise WireError(
                f"{site}: {name} of its logits is {getattr(upload, name)!r}; {value!r} was asked for."
            )
    if upload.labelled.shape != (classes,):
        raise WireError(
            f"{site}: its logits are for {upload.labelled.size} classes; the job has {classes}."
        )
    if upload.confidence.shape != (cases if asked.confidence else 0,):
        raise WireError(
            f"{site}: {upload.confidence.size} confidences came; {cases if asked.confidence else 0} were asked for."
        )
    count = int(upload.labelled.sum())
    whole = torch.full((cases, classes), float("nan"))
    if count == 0:
        return whole
    try:
        values = _unpacked(upload, cases, count)
    except WireError as error:
        raise WireError(f"{site}: {error.local}") from error
    if not bool(torch.isfinite(values).all()):
        raise WireError(f"{site}: its logits hold NaN or infinite values.")
    # The bound is the site's promise and what limits one site's pull on the ensemble.
    whole[:, torch.from_numpy(np.array(upload.labelled))] = values.clamp(
        -upload.bound, upload.bound
    )
    return whole


def _unpacked(upload: LogitsUpload, cases: int, classes: int) -> Tensor:
    if upload.levels == 0:
        floats = packing.unpack_floats(upload.packed, upload.encoding, cases=cases, classes=classes)
        return torch.from_numpy(np.array(floats))
    indices = packing.unpack(
        upload.packed, upload.encoding, cases=cases, classes=classes, levels=upload.levels
    )
    wide = torch.from_numpy(np.asarray(indices, np.int64))
    return quantisation.dequantise(wide, levels=upload.levels, bound=upload.bound)


@dataclass(frozen=True)
class Gathering:
    """Running sums of one question's answers under every rule that the sites' counts allow."""

    sums: Mapping[str, EnsembleSum]

    @classmethod
    def of(cls, cases: int, classes: int) -> "Gathering":
        """Empty sums."""
        return cls({rule: EnsembleSum(cases, classes) for rule in RULES})

    def add(self, logits: Tensor, opened: Opened, confidence: np.ndarray) -> None:
        """Add one site to every ensemble.

        Raises:
            DataError: a value that cannot be summed.
        """
        labelled = ~torch.isnan(logits).all(dim=0)
        trust = torch.from_numpy(np.array(confidence)).float() / 255 if confidence.size else None
        for rule, total in self.sums.items():
            total.add(logits, weights=weights_of(rule, opened), labelled=labelled, confidence=trust)

    def means(self) -> dict[str, Tensor]:
        """(N, C) float32 of each rule under which any class has weight."""
        return {
            rule: total.mean() for rule, total in self.sums.items() if not bool(total.dropped.all())
        }
