"""Cases as a torch dataset, with a cache that has a bound, and the pass that finds unreadable files.

Axes: C classes, K channels, S edge of the pipeline.
"""

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from medfed.data.cases import Cases, Pixels
from medfed.data.site import Compute
from medfed.data.store import ArrayStore
from medfed.errors import BadFile, TooManyBadFiles
from medfed.transforms import ImagePipeline

__all__ = ["BadCase", "CaseDataset", "ImageCache", "readable"]

MIB = 1 << 20


class ImageCache:
    """Decoded images, as the pipeline gives them: in memory up to a bound, then on disk where there is a store.

    Args:
        limit_mib: nothing more is kept in memory once the images take this much.
        store: keeps images between runs, keyed by their content and the pipeline.
    """

    def __init__(self, limit_mib: int, store: ArrayStore | None = None) -> None:
        self._left = limit_mib * MIB
        self._images: dict[tuple[Pixels, int, ImagePipeline], np.ndarray] = {}
        self._store = store
        self._lock = threading.Lock()

    @classmethod
    def of(cls, compute: Compute) -> "ImageCache":
        """The cache that a site's [compute] table asks for."""
        folder = compute.cache_folder
        return cls(
            compute.cache_mib, ArrayStore(folder, compute.cache_folder_mib) if folder else None
        )

    def image(self, cases: Cases, index: int, pipeline: ImagePipeline) -> np.ndarray:
        """(K, S, S) float32 of one case; decoded at most once while there is room.

        Raises:
            BadFile: the file cannot be read.
        """
        key = (cases.pixels, int(cases.rows[index]), pipeline)
        if (kept := self._images.get(key)) is not None:
            return kept
        image = self._stored(cases, index, pipeline)
        with self._lock:
            if image.nbytes <= self._left and key not in self._images:
                self._left -= image.nbytes
                self._images[key] = image
        return image

    def _stored(self, cases: Cases, index: int, pipeline: ImagePipeline) -> np.ndarray:
        if self._store is None:
            return pipeline(cases.raw(index))
        content = cases.digest(index) + pipeline.fingerprint().encode()
        key = hashlib.sha256(content).hexdigest()
        image = self._store.get(key)
        if image is None:
            image = pipeline(cases.raw(index))
            self._store.put(key, image)
        return image


class CaseDataset(Dataset[dict[str, Any]]):
    """Items of image (K, S, S) float32, label (C,) float32, known (C,) bool and index."""

    def __init__(self, cases: Cases, pipeline: ImagePipeline, cache: ImageCache) -> None:
        self.cases = cases
        self._pipeline = pipeline
        self._cache = cache

    def __len__(self) -> int:
        return len(self.cases)

    def __getitem__(self, index: int) -> dict[str, Any]:
        labels = self.cases.labels[index]
        return {
            "image": torch.from_numpy(self._cache.image(self.cases, index, self._pipeline)),
            "label": torch.from_numpy((labels == 1).astype(np.float32)),
            "known": torch.from_numpy(labels >= 0),
            "index": index,
        }


@dataclass(frozen=True, slots=True)
class BadCase:
    """A case that was left out, and why; for the site's eyes."""

    name: str
    reason: str


def readable(
    cases: Cases,
    pipeline: ImagePipeline,
    cache: ImageCache,
    *,
    on_bad_file: str,
    max_bad_share: float,
    progress: Callable[[int, int], None] = lambda done, total: None,
    workers: int = 1,
) -> tuple[Cases, tuple[BadCase, ...]]:
    """Decode every case once, which fills the cache, and leave out those that cannot be read.

    Args:
        cases: what to read.
        pipeline: the job's pipeline.
        cache: keeps what was decoded.
        on_bad_file: "stop" raises at the first bad file, "skip" leaves it out.
        max_bad_share: more bad files than this share of the cases is an error.
        progress: told of cases done and in all.
        workers: threads that decode side by side; the result does not depend on it.

    Raises:
        BadFile: with "stop".
        TooManyBadFiles: lists the first few with their reasons.
    """

    def reason(index: int) -> str | None:
        try:
            cache.image(cases, index, pipeline)
        except BadFile as error:
            if on_bad_file == "stop":
                raise
            return error.local
        return None

    good: list[int] = []
    bad: list[BadCase] = []
    with ThreadPoolExecutor(workers) as pool:
        found = (
            pool.map(reason, range(len(cases))) if workers > 1 else map(reason, range(len(cases)))
        )
        for i, problem in enumerate(found):
            if problem is None:
                good.append(i)
            else:
                bad.append(BadCase(cases.names[i], problem))
            progress(i + 1, len(cases))
    if len(bad) > max_bad_share * len(cases):
        first = "; ".join(b.reason for b in bad[:3])
        raise TooManyBadFiles(
            f"{len(bad)} of {len(cases)} files cannot be read, more than max_bad_share {max_bad_share}: {first}"
        )
    return (cases.subset(good) if bad else cases), tuple(bad)
