"""FedKD at one site: train alone, label the public set once, send quantised logits.

Axes: N public cases, C classes.
"""

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np

import medfed
from medfed.data import Site
from medfed.errors import ConfigError, VersionMismatch, WireError
from medfed.job import Job
from medfed.messages import (
    Close,
    Closed,
    LogitsUpload,
    Message,
    Open,
    Opened,
    Predict,
    Range,
    RangeAnswer,
    Train,
    Trained,
    Vote,
    VoteAnswer,
)
from medfed.privacy.policy import rounded_counts
from medfed.roles.channel import ProgressEvent
from medfed.roles.fedkd_teacher import Teacher
from medfed.roles.site_cases import SiteCases

__all__ = ["FedKDSite"]

logger = logging.getLogger("medfed.site")


class FedKDSite:
    """One hospital's part of FedKD; its state is on disk, so it can be made again at any time.

    Args:
        job: what is asked.
        site: the hospital's own site.toml.
        name: the site's name in the federation.
        state_dir: folder for checkpoints, the split and logits.
        progress: told how far training and prediction are.
        stop: true when the run was asked to stop.
    """

    questions: tuple[str, ...] = ("train", "range", "predict", "vote", "close")

    def __init__(
        self,
        job: Job,
        site: Site,
        *,
        name: str,
        state_dir: Path,
        progress: Callable[[ProgressEvent], None],
        stop: Callable[[], bool],
    ) -> None:
        self._job = job
        self._site = site
        self._name = name
        self._state_dir = state_dir
        self._progress = progress
        self._stop = stop
        self._cases: SiteCases | None = None
        self._teacher: Teacher | None = None
        self._sent = 0

    def open(self, question: Open) -> Opened:
        """Check that both sides mean the same run, and get the data ready.

        Raises:
            VersionMismatch: another medfed release than the server's.
            ConfigError: job, pipeline or vocabulary differ from the server's.
            ManifestMismatch: the public set differs from the agreed one.
        """
        self._check_same_run(question)
        self._cases = SiteCases.open(
            self._job, self._site, name=self._name, state_dir=self._state_dir, question=question,
            progress=self._tell,
        )  # fmt: skip
        self._teacher = Teacher(
            self._job, self._site, self._cases, name=self._name, state_dir=self._state_dir,
            progress=self._tell, stop=self._stop,
        )  # fmt: skip
        return self._opened(self._cases)

    def answer(self, question: Message) -> Message:
        """Answer one question of the run.

        Raises:
            WireError: a question that FedKD does not know, or for another run.
        """
        if getattr(question, "run", None) != self._job.run_id():
            raise WireError(f"{self._name}: a question for another run arrived.")
        self._sent += 1
        match question:
            case Train():
                return self._train()
            case Range(question=which):
                return RangeAnswer(self._ready.largest(which))
            case Predict():
                return self._predict(question)
            case Vote():
                return self._vote(question)
            case Close():
                return Closed(self._sent)
        raise WireError(
            f"{self._name}: FedKD has no answer to a question of kind {question.kind!r}."
        )

    @property
    def _ready(self) -> Teacher:
        if self._teacher is None:
            raise WireError(f"{self._name}: a question came before the run was opened.")
        return self._teacher

    def _tell(self, phase: str, done: int, total: int) -> None:
        self._progress(ProgressEvent(self._name, phase, done, total))

    def _check_same_run(self, question: Open) -> None:
        if question.medfed_version != medfed.__version__:
            raise VersionMismatch(
                f"{self._name} runs medfed {medfed.__version__}, the server {question.medfed_version}. "
                "Install the server's release here, or ask for the site's there.",
                upstream=f"the site runs medfed {medfed.__version__}; install one release everywhere",
            )
        pairs = {
            "run": (question.run, self._job.run_id()),
            "job": (question.job, self._job.fingerprint()),
            "pipeline": (question.pipeline, SiteCases.pipeline_of(self._job).fingerprint()),
            "vocabulary": (question.vocabulary, SiteCases.vocabulary_of(self._job).fingerprint()),
        }
        for what, (theirs, ours) in pairs.items():
            if theirs != ours:
                raise ConfigError(
                    f"{self._name}: the {what} fingerprint is {ours} here and {theirs} at the server.",
                    upstream=f"the {what} differs between site and server",
                )

    def _opened(self, cases: SiteCases) -> Opened:
        from importlib.metadata import version

        cell = self._site.privacy.small_cell
        labels = cases.train.labels
        counts = {"positives": (labels == 1).sum(axis=0), "annotated": (labels >= 0).sum(axis=0)}
        samples = len(labels)
        if not self._site.privacy.label_counts:
            counts, samples = {k: np.zeros_like(v) for k, v in counts.items()}, 0
        rounded = {
            k: np.array(rounded_counts(v.tolist(), cell), np.int64) for k, v in counts.items()
        }
        return Opened(
            medfed_version=medfed.__version__,
            torch_version=version("torch"),
            monai_version=version("monai"),
            samples=rounded_counts([samples], cell)[0],
            **rounded,
        )

    def _train(self) -> Trained:
        result = self._ready.train()
        cases = self._cases
        return Trained(result.epochs, round(result.seconds, 1), bool(cases and cases.skipped))

    def _predict(self, question: Predict) -> LogitsUpload:
        wanted = self._job.fedkd
        agreed = (wanted.quantiser, wanted.levels, wanted.confidence != "none")
        bound = wanted.bound if wanted.quantiser == "public_bound" else question.bound
        if (question.mode, question.levels, question.confidence, question.bound) != (
            *agreed,
            bound,
        ):
            raise WireError(
                f"{self._name}: the server asked for logits in another form than the job says.",
                upstream="the question asks for another form of logits than the job says",
            )
        return self._ready.upload(question)

    def _vote(self, question: Vote) -> VoteAnswer:
        score, cases = self._ready.score(question.network)
        rounded = rounded_counts([cases], self._site.privacy.small_cell)[0]
        return VoteAnswer(question.candidate, round(score, 2), rounded)
