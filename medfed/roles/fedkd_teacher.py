"""A FedKD site's own network: trained on its patients, asked once about the public images.

Axes: N public cases, C classes.
"""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import ConcatDataset, Dataset

from medfed.algorithms import confidence, fedkd, packing, quantisation
from medfed.data import Site
from medfed.data.dataset import CaseDataset
from medfed.errors import CheckpointError, WireError
from medfed.evaluation import auroc
from medfed.files import write_atomically
from medfed.job import Job
from medfed.messages import LogitsUpload, Predict
from medfed.networks import build
from medfed.roles.outliers import LabelledForOutliers, sampled
from medfed.roles.secret import secret_of
from medfed.roles.site_cases import SiteCases, Tell
from medfed.seeds import derive, torch_generator
from medfed.training import TrainingResult, predict_logits, train_to_completion

__all__ = ["Teacher", "device_of"]

logger = logging.getLogger("medfed.site")


class Teacher:
    """One site's network and its answers; what it has worked out lies in `state_dir`.

    Args:
        job: what is asked.
        site: the hospital's own site.toml.
        cases: the site's cases for this run.
        name: the site's name.
        state_dir: folder for checkpoints and logits.
        progress: told of phase, steps done and steps in all.
        stop: true when the run was asked to stop.
    """

    def __init__(
        self, job: Job, site: Site, cases: SiteCases, *, name: str, state_dir: Path, progress: Tell,
        stop: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._job = job
        self._site = site
        self._cases = cases
        self._name = name
        self._state_dir = state_dir
        self._progress = progress
        self._stop = stop
        self._device = device_of(site)
        self._outlier = job.fedkd.confidence == "outlier"

    def train(self) -> TrainingResult:
        """Train the site's network to completion, or go on where it stopped.

        Raises:
            NonFiniteError: the loss became NaN; names the cases of the batch, at the site only.
            Stopped: the run was asked to stop; the last epoch is kept.
        """
        return self._trained()[1]

    def logits(self, which: str) -> np.ndarray:
        """(N, C) float32 on the public or benchmark set, with one more column for an outlier logit.

        Worked out once; kept on disk, so that a retry and a restart give the same numbers.
        """
        path = self._state_dir / f"logits-{which}.npy"
        if path.exists():
            return self._loaded(path)
        cases = self._cases.public if which == "public" else self._cases.benchmark
        if which not in ("public", "benchmark") or not len(cases):
            raise WireError(f"{self._name}: the run has no {which[:20]!r} set.")
        network = self._trained()[0]
        found = predict_logits(
            network, self._dataset(cases),
            progress=lambda done, total: self._progress(f"predict {which}", done, total),
        ).cpu()  # fmt: skip
        if self._job.fedkd.calibrate:
            found = found / self._temperature(network)
        write_atomically(path, _npy(found.numpy().astype(np.float32)))
        return self._loaded(path)

    def largest(self, which: str) -> float:
        """Max |z| over the classes that may be sent, for the paper's quantiser."""
        told = self._comparable(which)[:, : self._classes][
            :, torch.from_numpy(self._cases.train.annotated)
        ]
        return float(np.abs(told.numpy()).max(initial=0.0))

    def upload(self, question: Predict) -> LogitsUpload:
        """The answer that leaves: clipped, noised where asked, quantised, packed."""
        whole = self._comparable(question.question)
        logits = whole[:, : self._classes]
        labelled = self._cases.train.annotated
        noised, noise = self._noised(whole, question)
        packed, encoding = _packed(
            noised[:, : self._classes][:, torch.from_numpy(labelled)], question
        )
        # Where logits leave with noise, so must what is worked out from them.
        told = whole if noise == "none" else noised
        trust = self._confidence(told, labelled) if question.confidence else np.zeros(0, np.uint8)
        return LogitsUpload(
            question=question.question, cases=len(logits), levels=question.levels, bound=question.bound,
            encoding=encoding, noise=noise, labelled=labelled, packed=packed, confidence=trust,
        )  # fmt: skip

    def score(self, weights: Mapping[str, np.ndarray]) -> tuple[float, int]:
        """Mean AUROC, or accuracy where labels exclude each other, of a student on validation cases."""
        student = self._network(self._job.networks.student, self._classes)
        try:
            student.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in weights.items()})
        except (RuntimeError, ValueError) as error:
            raise WireError(
                f"{self._name}: the candidate's weights do not fit the student: {error}"
            ) from error
        cases = self._cases.validation
        scores = predict_logits(student, self._dataset(cases)).cpu().numpy()
        if self._job_is_single:
            return float((scores.argmax(1) == cases.labels.argmax(1)).mean()), len(cases)
        targets = np.where(cases.labels < 0, np.nan, cases.labels.astype(np.float64))
        macro = auroc(scores, targets).macro
        return (0.5 if np.isnan(macro) else macro), len(cases)

    @property
    def _classes(self) -> int:
        return len(self._cases.vocabulary.classes)

    @property
    def _job_is_single(self) -> bool:
        return self._cases.vocabulary.label_kind == "single_label"

    def _trained(self) -> tuple[nn.Module, TrainingResult]:
        job, cases = self._job, self._cases
        network = self._network(job.networks.of(self._name), self._classes + self._outlier)
        train: Dataset[Any] = self._dataset(cases.train)
        validation: Dataset[Any] = self._dataset(cases.validation)
        names = [*cases.train.names]
        if self._outlier:
            train, names = self._with_outliers(train, names)
            validation = LabelledForOutliers(validation, outlier=False, single=self._job_is_single)
        result = train_to_completion(
            network, train, validation, job.training, kind=cases.vocabulary.label_kind,
            seed=derive(job.seed, self._name, "train"), folder=self._state_dir / "training",
            progress=lambda done, total: self._progress("train", done, total), stop=self._stop,
            names=names, device=self._device,
        )  # fmt: skip
        return network, result

    def _with_outliers(
        self, train: Dataset[Any], names: list[str]
    ) -> tuple[Dataset[Any], list[str]]:
        """The site's cases and as many public images, which answer "none of mine"."""
        public = sampled(
            self._cases.public, len(names), derive(self._job.seed, self._name, "outliers")
        )
        parts = [
            LabelledForOutliers(train, outlier=False, single=self._job_is_single),
            LabelledForOutliers(
                self._dataset(public), outlier=True, single=self._job_is_single, offset=len(names)
            ),
        ]
        return ConcatDataset(parts), [*names, *public.names]

    def _network(self, spec: Any, outputs: int) -> nn.Module:  # noqa: ANN401 - a NetworkSpec
        channels, seed = self._job.image.channels, derive(self._job.seed, self._name, "init")
        return build(spec, in_channels=channels, classes=outputs, seed=seed).to(self._device)

    def _dataset(self, cases: Any) -> CaseDataset:  # noqa: ANN401 - Cases
        return CaseDataset(cases, self._cases.pipeline, self._cases.cache)

    def _temperature(self, network: nn.Module) -> float:
        cases = self._cases.validation
        found = predict_logits(network, self._dataset(cases)).cpu()[:, : self._classes]
        return confidence.fit_temperature(
            found, torch.from_numpy(cases.labels), self._cases.vocabulary.label_kind
        )

    def _noised(self, logits: Tensor, question: Predict) -> tuple[Tensor, str]:
        noise = self._job.fedkd.noise
        clipped = logits.clamp(-question.bound, question.bound)
        if noise.mechanism == "none" or noise.where != "site":
            return clipped, "none"
        # The seed must be the site's own secret: a server that knew it could take the noise off again.
        # And it must be another for every job: the same noise at two scales could be solved for.
        seed = derive(
            self._job.seed,
            secret_of(self._site, self._state_dir),
            self._job.run_id(),
            "noise",
            question.question,
        )
        noised = fedkd.add_noise(clipped, noise, torch_generator(seed))
        return noised, f"{noise.mechanism} scale {noise.scale} at the site"

    def _confidence(self, whole: Tensor, labelled: np.ndarray) -> np.ndarray:
        mask, kind = torch.from_numpy(labelled), self._cases.vocabulary.label_kind
        logits = whole[:, : self._classes]
        if not self._outlier:
            found = confidence.entropy_confidence(logits, mask, kind)
        else:
            found = 1 - whole[:, self._classes].sigmoid()  # its own yes or no
        return (found * 255).round().clamp(0, 255).to(torch.uint8).numpy()

    def _comparable(self, which: str) -> Tensor:
        """The logits as they may be averaged with other sites', and a yes or no to "none of mine"."""
        whole = torch.from_numpy(self.logits(which))
        if not (self._outlier and self._job_is_single):
            return whole
        count, mask = self._classes, torch.from_numpy(self._cases.train.annotated)
        seen = torch.from_numpy(self.logits("public"))
        against = confidence.against_outlier(
            whole[:, :count], whole[:, count], public=seen[:, :count] - seen[:, count:],
            bound=self._job.fedkd.bound,
        )  # fmt: skip
        trust = confidence.outlier_confidence(whole[:, count], whole[:, :count][:, mask])
        return torch.cat([against, -trust.logit(eps=1e-6)[:, None]], dim=1)

    def _loaded(self, path: Path) -> np.ndarray:
        try:
            return np.asarray(np.load(path, allow_pickle=False))
        except (OSError, ValueError, EOFError) as error:
            raise CheckpointError(
                f"{path}: is damaged ({error}). Delete it; it will be worked out again."
            ) from error


def device_of(site: Site) -> str:
    """The device that a party computes on."""
    if site.compute.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return site.compute.device


def _packed(logits: Tensor, question: Predict) -> tuple[np.ndarray, str]:
    if question.levels == 0:
        return packing.pack_floats(logits.numpy())
    mode: quantisation.Mode = "paper" if question.mode == "paper" else "public_bound"
    indices = quantisation.quantise(logits, levels=question.levels, bound=question.bound, mode=mode)
    return packing.pack(indices.numpy(), levels=question.levels)


def _npy(array: np.ndarray) -> bytes:
    import io

    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
