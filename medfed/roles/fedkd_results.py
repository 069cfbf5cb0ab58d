"""Every model of a FedKD run on the server's benchmark: each site, each ensemble, the student.

Axes: M benchmark cases, C classes.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from medfed.job import Job
from medfed.report import Metric, RunFolder, Scores
from medfed.roles.fedkd_student import Student
from medfed.roles.scoring import Scorer
from medfed.roles.server_state import ServerState
from medfed.roles.shared_sets import SharedSets
from medfed.seeds import derive

__all__ = ["Results"]

SHOWN_RULES = ("positives", "samples", "uniform")  # the paper's, and the two it is held against
DRAWN_SITES = 12  # more curves than this cannot be told apart in a figure


class Results:
    """Scores models one at a time, so that memory does not depend on the number of sites."""

    def __init__(self, job: Job, shared: SharedSets, folder: RunFolder, state: ServerState) -> None:
        self._job = job
        self._shared = shared
        self._folder = folder
        self._state = state

    def write(self, student: Student, ensembles: dict[str, Tensor], *, dropped: np.ndarray) -> None:
        """Write metrics.csv and scores.npz; nothing where the job names no benchmark.

        Args:
            student: the distilled network.
            ensembles: (M, C) logits by rule.
            dropped: (C,) bool: classes that no site annotates.
        """
        shared = self._shared
        if shared.benchmark is None or shared.benchmark_manifest is None:
            return
        ordered = shared.benchmark.subset(shared.benchmark_manifest.order(shared.benchmark))
        scorer = Scorer(
            ordered, shared.vocabulary, seed=derive(self._job.seed, "bootstrap"), dropped=dropped
        )
        metrics: list[Metric] = []
        kept: dict[str, np.ndarray] = {}
        for name, logits in self._models(student, ensembles):
            scores = scorer.probabilities(logits)
            metrics += scorer.metrics(name, scores)
            if not name.startswith("site/") or len(self._job.federation.sites) <= DRAWN_SITES:
                kept[name] = scores
        self._folder.write_metrics(metrics)
        self._folder.write_scores(Scores(scorer.labels, scorer.groups, kept))

    def _models(
        self, student: Student, ensembles: dict[str, Tensor]
    ) -> Iterator[tuple[str, np.ndarray]]:
        for site in self._state.names("present") or []:
            kept = self._state.tensors(f"site-{site}")
            if kept is not None:
                yield f"site/{site}", torch.as_tensor(kept["logits"]).numpy()
        for rule, logits in ensembles.items():
            if rule in SHOWN_RULES or rule == self._job.fedkd.weight_by:
                yield f"ensemble/{rule}", logits.numpy()
        yield "student", student.benchmark_logits()
