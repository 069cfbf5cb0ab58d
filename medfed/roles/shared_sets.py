"""The images that all parties share: the public set, and the benchmark whose labels only the server has."""

from dataclasses import dataclass

import numpy as np

import medfed
from medfed.data import Cases, PublicManifest, Site, Vocabulary, open_cases
from medfed.errors import DataError
from medfed.job import Job
from medfed.messages import Open
from medfed.transforms import ImagePipeline

__all__ = ["SharedSets"]


@dataclass(frozen=True)
class SharedSets:
    """What the server holds of the shared images, and the manifests that fix their order."""

    public: Cases
    benchmark: Cases | None
    vocabulary: Vocabulary
    pipeline: ImagePipeline
    public_manifest: PublicManifest
    benchmark_manifest: PublicManifest | None

    @classmethod
    def open(cls, job: Job, site: Site) -> "SharedSets":
        """Open the shared sets by the server's own site.toml.

        Raises:
            UnknownAlias: the server's site.toml lacks an alias of the job.
            ManifestMismatch: an image stands twice in a shared set, or in both.
            DataError: a shared set is empty.
        """
        vocabulary = Vocabulary.load(job.task)
        public = open_cases(site, job.data.public, vocabulary)
        benchmark = open_cases(site, job.data.benchmark, vocabulary) if job.data.benchmark else None
        for alias, cases in ((job.data.public, public), (job.data.benchmark, benchmark)):
            if cases is not None and not len(cases):
                raise DataError(f"[datasets.{alias}] of the server's site.toml holds no images.")
        manifest = PublicManifest.of(public)
        other = PublicManifest.of(benchmark) if benchmark is not None else None
        if other is not None:
            _refuse_overlap(manifest, other, job)
        return cls(
            public, benchmark, vocabulary, ImagePipeline(**job.image.model_dump()), manifest, other
        )

    def question(self, job: Job) -> Open:
        """The opening question of a run on these sets."""
        nothing = np.zeros((0, 32), np.uint8)
        return Open(
            run=job.run_id(),
            method=job.method,
            medfed_version=medfed.__version__,
            job=job.fingerprint(),
            pipeline=self.pipeline.fingerprint(),
            vocabulary=self.vocabulary.fingerprint(),
            public=self.public_manifest.digests,
            benchmark=self.benchmark_manifest.digests if self.benchmark_manifest else nothing,
        )


def _refuse_overlap(public: PublicManifest, benchmark: PublicManifest, job: Job) -> None:
    shared = {row.tobytes() for row in public.digests} & {
        row.tobytes() for row in benchmark.digests
    }
    if shared:
        raise DataError(
            f"{len(shared)} images stand in both [datasets.{job.data.public}] and [datasets.{job.data.benchmark}]: "
            "the student would be scored on images it was distilled on. Take them out of one of the two."
        )
