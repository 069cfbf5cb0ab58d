"""A site's cases for one run: opened, checked, split by patient, and kept apart from public images."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from medfed.data import Cases, PublicManifest, Site, Split, Vocabulary, open_cases, split_by_patient
from medfed.data.dataset import ImageCache, readable
from medfed.errors import DataError, ManifestMismatch
from medfed.job import Job
from medfed.messages import Open
from medfed.seeds import derive
from medfed.transforms import ImagePipeline

__all__ = ["SiteCases"]

logger = logging.getLogger("medfed.site")
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True)
class SiteCases:
    """What one site works with in one run."""

    train: Cases
    validation: Cases
    public: Cases  # in manifest order
    benchmark: Cases  # in manifest order; may be empty
    vocabulary: Vocabulary
    pipeline: ImagePipeline
    cache: ImageCache
    skipped: int  # unreadable files, for the site's eyes

    @staticmethod
    def pipeline_of(job: Job) -> ImagePipeline:
        """The job's one image pipeline."""
        return ImagePipeline(**job.image.model_dump())

    @staticmethod
    def vocabulary_of(job: Job) -> Vocabulary:
        """The job's label vocabulary; a task is its vocabulary."""
        return Vocabulary.load(job.task)

    @classmethod
    def open(
        cls, job: Job, site: Site, *, name: str, state_dir: Path, question: Open, progress: Tell
    ) -> "SiteCases":
        """Open every dataset that the job names.

        Raises:
            UnknownAlias: site.toml lacks an alias of the job.
            ManifestMismatch: a shared set is not the agreed one.
            DataError: too little is left to train and validate on.
        """
        pipeline, vocabulary = cls.pipeline_of(job), cls.vocabulary_of(job)
        public = _in_manifest_order(
            open_cases(site, job.data.public, vocabulary), question.public, job.data.public
        )
        benchmark = public.subset(np.zeros(0, np.int64))
        if len(question.benchmark):
            alias = str(job.data.benchmark)
            benchmark = _in_manifest_order(
                open_cases(site, alias, vocabulary), question.benchmark, alias
            )
        private = open_cases(site, job.data.train, vocabulary)
        spec = site.datasets[job.data.train]
        cache = ImageCache(site.compute.cache_mib)
        whole, bad = readable(
            private, pipeline, cache, on_bad_file=spec.on_bad_file, max_bad_share=spec.max_bad_share,
            progress=lambda done, total: progress("read", done, total),
        )  # fmt: skip
        whole = _without_shared(whole, (question.public, question.benchmark), name)
        split = _kept_split(whole, job, name, state_dir / "split.json")
        if not len(split.train) or not len(split.validation):
            raise DataError(
                f"{name}: {len(whole)} readable cases leave {len(split.train)} for training and "
                f"{len(split.validation)} for validation; both need at least one patient. Add patients to "
                f"[datasets.{job.data.train}] or change data.validation_share in the job.",
                upstream="too few patients to train and validate",
            )
        for case in bad:
            logger.warning("%s: left out: %s", name, case.reason)
        return cls(
            whole.subset(split.train), whole.subset(split.validation), public, benchmark, vocabulary,
            pipeline, cache, len(bad),
        )  # fmt: skip


def _in_manifest_order(cases: Cases, digests: np.ndarray, alias: str) -> Cases:
    """The shared cases in the order all parties agreed on: logits in another order would be silently wrong."""
    try:
        return cases.subset(PublicManifest(digests).order(cases))
    except ManifestMismatch as error:
        raise ManifestMismatch(
            f"[datasets.{alias}]: {error.local}", upstream=error.upstream
        ) from error


def _without_shared(cases: Cases, shared: tuple[np.ndarray, ...], name: str) -> Cases:
    """Private cases that are not among the shared images: a teacher must not have trained on those."""
    known = {row.tobytes() for digests in shared for row in digests}
    kept = [i for i in range(len(cases)) if cases.digest(i) not in known]
    if len(kept) < len(cases):
        logger.warning(
            "%s: %d private images are also in the public or benchmark set and were left out of training.",
            name, len(cases) - len(kept),
        )  # fmt: skip
    return cases.subset(np.array(kept, np.int64))


def _kept_split(cases: Cases, job: Job, name: str, path: Path) -> Split:
    """The site's split; the one on disk where this run has made it before."""
    share = job.data.validation_share
    if path.exists():
        return Split.load(path, cases)
    split = split_by_patient(
        cases, fractions=(1 - share, share, 0.0), seed=derive(job.seed, name, "split")
    )
    split.save(path, cases)
    return split
