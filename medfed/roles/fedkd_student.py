"""The student: distilled from the ensemble on public images, chosen without any test label."""

from collections.abc import Callable, Sequence

import numpy as np
from torch import Tensor

from medfed.data import Site
from medfed.data.dataset import CaseDataset, ImageCache
from medfed.errors import Stopped
from medfed.job import Job
from medfed.messages import Vote, VoteAnswer
from medfed.networks import build
from medfed.report import RunFolder
from medfed.report.records import Epoch
from medfed.roles.attendance import Attendance
from medfed.roles.channel import Channel, Failure
from medfed.roles.fedkd_teacher import device_of
from medfed.roles.server_state import as_arrays
from medfed.roles.shared_sets import SharedSets
from medfed.seeds import derive
from medfed.training import distil, predict_logits

__all__ = ["Student"]


class Student:
    """The server's network; its checkpoints lie in the run folder's state.

    Args:
        job: what is run.
        shared: the public and benchmark images.
        folder: the run folder.
        site: the server's own site.toml.
        cache: of decoded images.
        progress: told of phase, steps done and steps in all.
        stop: true when the run was asked to stop.
    """

    def __init__(
        self, job: Job, shared: SharedSets, *, folder: RunFolder, site: Site, cache: ImageCache,
        progress: Callable[[str, int, int], None], stop: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._job = job
        self._shared = shared
        self._folder = folder
        self._cache = cache
        self._progress = progress
        self._stop = stop
        self.network = build(
            job.networks.student, in_channels=job.image.channels, classes=len(shared.vocabulary.classes),
            seed=derive(job.seed, "student", "init"),
        ).to(device_of(site))  # fmt: skip
        self._device = device_of(site)
        self._candidates: list[dict[str, Tensor]] = []

    def distil(self, targets: Tensor) -> None:
        """Fit the ensemble's logits on the public images.

        Args:
            targets: (N, C) float32 in manifest order; nan columns are dropped classes.
        """
        shared, params = self._shared, self._job.distillation
        order = shared.public.subset(shared.public_manifest.order(shared.public))
        found = distil(
            self.network, CaseDataset(order, shared.pipeline, self._cache), targets, params,
            kind=shared.vocabulary.label_kind, seed=derive(self._job.seed, "student", "distil"),
            folder=self._folder.path / "state" / "distil",
            progress=lambda done, total: self._progress("distil", done, total), stop=self._stop,
            record=self._record, device=self._device,
            candidates=params.vote_candidates if params.select_by == "vote" else 1,
        )  # fmt: skip
        self._candidates = list(found.candidates)

    def choose(self, channel: Channel, attendance: Attendance, sites: Sequence[str]) -> None:
        """Take the candidate that the sites score best, where the job asks for a vote; save the student."""
        if self._job.distillation.select_by == "vote" and len(self._candidates) > 1:
            votes = [
                self._vote(n, channel, attendance, sites) for n in range(len(self._candidates))
            ]
            best = int(np.argmax(votes))  # the first of equals, which agrees best with the ensemble
            self.network.load_state_dict(self._candidates[best])
        shared = self._shared
        loader = {
            "network": self._job.networks.student.model_dump(),
            "in_channels": self._job.image.channels,
            "classes": list(shared.vocabulary.classes),
            "task_kind": shared.vocabulary.label_kind,
            "image": self._job.image.model_dump(),
        }
        self._folder.write_student(as_arrays(self.network.state_dict()), loader)

    def benchmark_logits(self) -> np.ndarray:
        """(M, C) float32 on the benchmark, in the manifest's order."""
        shared = self._shared
        if shared.benchmark is None or shared.benchmark_manifest is None:
            return np.zeros((0, len(shared.vocabulary.classes)), np.float32)
        ordered = shared.benchmark.subset(shared.benchmark_manifest.order(shared.benchmark))
        dataset = CaseDataset(ordered, shared.pipeline, self._cache)
        return predict_logits(self.network, dataset).cpu().numpy()

    def _vote(
        self, number: int, channel: Channel, attendance: Attendance, sites: Sequence[str]
    ) -> float:
        """Mean score of a candidate over the sites that answer, each by its validation cases."""
        question = Vote(self._job.run_id(), number, as_arrays(self._candidates[number]))
        phase, deadline_s = f"vote {number}", self._job.federation.deadline_s
        scores, cases = [], []
        for site, answer in channel.ask(question, sites, phase=phase, deadline_s=deadline_s):
            if self._stop():
                raise Stopped(f"{phase}: the run was asked to stop; resume it with --resume.")
            if (
                isinstance(answer, VoteAnswer)
                and answer.candidate == number
                and 0 <= answer.score <= 1
            ):
                attendance.took_part(site, phase)
                scores.append(answer.score)
                cases.append(max(answer.cases, 1))
            elif isinstance(answer, Failure):
                attendance.failed(answer, phase)
            else:
                attendance.failed(
                    Failure(site, "invalid", "its vote is no score of this candidate"), phase
                )
        return float(np.average(scores, weights=cases)) if scores else 0.0

    def _record(self, epoch: int, loss: float, agreement: float) -> None:
        self._folder.append_epoch(Epoch(epoch, loss, agreement))
