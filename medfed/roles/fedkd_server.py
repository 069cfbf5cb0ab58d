"""FedKD at the server: ask, aggregate, distil, choose, score, save.

Axes: N public cases, M benchmark cases, C classes.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TypeGuard, TypeVar

import numpy as np
import torch
from torch import Tensor

import medfed
from medfed.algorithms.fedkd import add_noise
from medfed.data import Site
from medfed.data.dataset import ImageCache
from medfed.errors import DataError, MedfedError, Stopped
from medfed.job import Job
from medfed.messages import (
    Close,
    LogitsUpload,
    Message,
    Opened,
    Predict,
    Range,
    RangeAnswer,
    Train,
    Trained,
)
from medfed.report import Outcome, RunFolder, build_report, coverage_of
from medfed.roles.attendance import Attendance
from medfed.roles.channel import Answer, Channel, Failure, ProgressEvent
from medfed.roles.fedkd_gather import Gathering, site_logits
from medfed.roles.fedkd_results import Results
from medfed.roles.fedkd_student import Student
from medfed.roles.run_facts import facts_of
from medfed.roles.secret import secret_of
from medfed.roles.server_state import ServerState
from medfed.roles.shared_sets import SharedSets
from medfed.seeds import derive, torch_generator

__all__ = ["FedKDServer"]

logger = logging.getLogger("medfed.server")
SERVER = "server"
Kind = TypeVar("Kind", bound=Message)


class FedKDServer:
    """The server's part of FedKD; resumes from its last finished phase.

    Args:
        job: what is run.
        channel: how the sites are reached.
        site: the server's own site.toml, with the public and benchmark images.
        folder: the run folder.
        progress: told how far the server is.
        stop: true when the run was asked to stop.
        environment: local, sim, poc or prod; recorded.
    """

    def __init__(
        self, job: Job, channel: Channel, *, site: Site, folder: RunFolder,
        progress: Callable[[ProgressEvent], None], stop: Callable[[], bool], environment: str,
    ) -> None:  # fmt: skip
        self._job = job
        self._channel = channel
        self._site = site
        self._folder = folder
        self._progress = progress
        self._stop = stop
        self._environment = environment
        self._state = ServerState(folder.path / "state")
        self._attendance = Attendance(folder, channel.sites, min_sites=job.federation.min_sites)

    def run(self) -> None:
        """The whole method.

        Raises:
            NotEnoughSites: too few sites answered a phase.
            Stopped: the run was asked to stop.
            MedfedError: the server's own data or settings are wrong.
        """
        shared = SharedSets.open(self._job, self._site)
        self._write_facts(shared)
        teachers, judged, present = self._teachers(shared)
        taught_by = self._teacher(teachers)
        self._write_facts(shared, taught_by)
        self._folder.write_coverage(
            coverage_of(_known(taught_by).numpy(), shared.vocabulary.label_kind)
        )
        cache = ImageCache(self._site.compute.cache_mib)
        student = Student(
            self._job, shared, folder=self._folder, site=self._site, cache=cache,
            progress=self._tell, stop=self._stop,
        )  # fmt: skip
        with self._folder.phase("distil"):
            student.distil(taught_by)
        with self._folder.phase("choose"):
            student.choose(self._channel, self._attendance, present)
        with self._folder.phase("score"):
            self._score(shared, student, judged, taught_by)
        self._close(present)

    def _teachers(
        self, shared: SharedSets
    ) -> tuple[dict[str, Tensor], dict[str, Tensor], list[str]]:
        """The ensembles on both sets and the sites in them; asked of the sites once."""
        sets = ("public", "benchmark") if shared.benchmark else ("public",)
        kept = {which: self._state.tensors(which) for which in sets}
        present = self._state.names("present")
        if present is None or None in kept.values():
            with self._folder.phase("open"):
                opened = self._open(shared)
            with self._folder.phase("train"):
                present = self._train(sorted(opened))
            with self._folder.phase("predict"):
                for which in sets:
                    kept[which], present = self._gather(which, shared, opened, present)
            self._state.keep_names("present", present)
        return kept["public"] or {}, kept.get("benchmark") or {}, present

    def _score(
        self, shared: SharedSets, student: Student, judged: dict[str, Tensor], taught_by: Tensor
    ) -> None:
        dropped = torch.isnan(taught_by).all(dim=0).numpy()
        Results(self._job, shared, self._folder, self._state).write(
            student, judged, dropped=dropped
        )

    def _open(self, shared: SharedSets) -> dict[str, Opened]:
        """Every site that has the same run before it, with its counts."""
        question = shared.question(self._job)
        opened: dict[str, Opened] = {}
        for site, answer in self._ask(question, self._channel.sites, "open"):
            if self._is(answer, Opened, site, "open") and self._fits(answer, shared, site):
                opened[site] = answer
                versions = {
                    "medfed": answer.medfed_version,
                    "torch": answer.torch_version,
                    "monai": answer.monai_version,
                }
                self._attendance.took_part(site, "open", **versions)
        self._attendance.require(len(opened), "open")
        self._state.keep_opened(opened)
        return opened

    def _train(self, sites: Sequence[str]) -> list[str]:
        """Sites whose training is complete."""
        done = []
        for site, answer in self._ask(Train(self._job.run_id()), sites, "train", patient=True):
            if self._is(answer, Trained, site, "train"):
                self._attendance.took_part(site, "train")
                self._folder.record_phase("train", answer.seconds, party=site)
                done.append(site)
        self._attendance.require(len(done), "train")
        return done

    def _gather(
        self, which: str, shared: SharedSets, opened: dict[str, Opened], sites: Sequence[str]
    ) -> tuple[dict[str, Tensor], list[str]]:
        """The ensembles on one set by rule, and the sites in them; on disk once they are complete."""
        cases = len(shared.public if which == "public" else shared.benchmark or ())
        classes = len(shared.vocabulary.classes)
        question, phase = self._question(which, sites), f"predict {which}"
        gathering, present = Gathering.of(cases, classes), []
        for site, answer in self._ask(question, sites, phase):
            if not self._is(answer, LogitsUpload, site, phase):
                continue
            try:
                logits = site_logits(answer, question, site=site, cases=cases, classes=classes)
                gathering.add(logits, opened[site], answer.confidence)
            except MedfedError as error:
                self._attendance.failed(Failure(site, "invalid", error.local), phase)
                continue
            self._attendance.took_part(site, phase)
            if which == "benchmark":
                self._state.keep_tensors(f"site-{site}", {"logits": logits})
            present.append(site)
        self._attendance.require(len(present), phase)
        means = self._noised(gathering.means(), which)
        self._state.keep_tensors(which, means)
        return means, present

    def _noised(self, means: dict[str, Tensor], which: str) -> dict[str, Tensor]:
        noise = self._job.fedkd.noise
        if noise.where != "aggregate" or noise.mechanism == "none":
            return means
        return {rule: add_noise(z, noise, self._noise_of(which, rule)) for rule, z in means.items()}

    def _noise_of(self, which: str, rule: str) -> torch.Generator:
        secret, run = secret_of(self._site, self._state.folder), self._job.run_id()
        return torch_generator(derive(self._job.seed, secret, run, "aggregate noise", which, rule))

    def _question(self, which: str, sites: Sequence[str]) -> Predict:
        wanted = self._job.fedkd
        bound = wanted.bound
        if wanted.quantiser == "paper":
            bound = self._largest(which, sites)
        return Predict(
            run=self._job.run_id(), question=which, mode=wanted.quantiser, levels=wanted.levels, bound=bound,
            confidence=wanted.confidence != "none",
        )  # fmt: skip

    def _largest(self, which: str, sites: Sequence[str]) -> float:
        """The paper's global z_max; a site that does not tell is clipped to the others' range."""
        found = []
        for site, answer in self._ask(Range(self._job.run_id(), which), sites, f"range {which}"):
            if self._is(answer, RangeAnswer, site, f"range {which}"):
                self._attendance.took_part(site, f"range {which}")
                found.append(answer.largest)
        self._attendance.require(len(found), f"range {which}")
        return max(max(found), 1e-6)

    def _teacher(self, ensembles: dict[str, Tensor]) -> Tensor:
        rule = self._job.fedkd.weight_by
        if rule not in ensembles:
            raise DataError(
                f'No site reported a count for weight_by = "{rule}": every class would be dropped. Use '
                'weight_by = "uniform", or ask the sites to allow label_counts.'
            )
        return ensembles[rule]

    def _close(self, present: Sequence[str]) -> None:
        """Finish the folder first: a site that is gone by now costs nothing."""
        missing = sorted(set(self._channel.sites) - set(present))
        outcome: Outcome = "partial" if missing or self._attendance.failures else "complete"
        reasons = [f"{f.site}: {f.text}" for f in self._attendance.failures.values()]
        absent = [
            f"{site}: not in the ensemble"
            for site in missing
            if site not in self._attendance.failures
        ]
        self._folder.finish(outcome, "; ".join(reasons + absent))
        for site, answer in self._ask(Close(self._job.run_id(), outcome), present, "close"):
            if isinstance(answer, Failure):
                logger.warning("%s did not answer the closing question: %s", site, answer.text)
        build_report(self._folder.path)

    def _ask(
        self, question: Message, sites: Sequence[str], phase: str, *, patient: bool = False
    ) -> Iterator[tuple[str, Answer]]:
        """One question to some sites; `patient` waits for ever, since a site knows its own pace.

        A site that was stopped refuses; the run then stops here, or it would go on without that site.
        """
        deadline_s = None if patient else self._job.federation.deadline_s
        answers = self._channel.ask(question, sites, phase=phase, deadline_s=deadline_s)
        for done, (site, answer) in enumerate(answers, start=1):
            if self._stop():
                raise Stopped(f"{phase}: the run was asked to stop; resume it with --resume.")
            self._tell(phase, done, len(sites))
            yield site, answer

    def _is(self, answer: Answer, kind: type[Kind], site: str, phase: str) -> TypeGuard[Kind]:
        if isinstance(answer, kind):
            return True
        if not isinstance(answer, Failure):
            answer = Failure(site, "invalid", f"a {kind.kind} was expected, a {answer.kind} came")
        self._attendance.failed(answer, phase)
        return False

    def _fits(self, answer: Opened, shared: SharedSets, site: str) -> bool:
        classes = len(shared.vocabulary.classes)
        counts = np.concatenate([answer.positives, answer.annotated, [answer.samples]])
        if answer.medfed_version != medfed.__version__:
            why = f"it runs another medfed than the server's {medfed.__version__}"
        elif not len(answer.positives) == len(answer.annotated) == classes or (counts < 0).any():
            why = f"its counts are not for {classes} classes"
        else:
            return True
        self._attendance.failed(Failure(site, "invalid", why), "open")
        return False

    def _tell(self, phase: str, done: int, total: int) -> None:
        self._progress(ProgressEvent(SERVER, phase, done, total))

    def _write_facts(self, shared: SharedSets, taught_by: Tensor | None = None) -> None:
        self._folder.write_facts(
            facts_of(self._job, shared, self._site, self._environment, taught_by)
        )


def _known(logits: Tensor) -> Tensor:
    return logits[:, ~torch.isnan(logits).all(dim=0)]
