"""What a dataset holds, found by reading every case once: the facts behind `medfed data check`.

Nothing here leaves the site. Axes: N cases, C classes.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from medfed.data.cases import Cases
from medfed.data.contact_sheet import masked_thumbnail, thumbnail
from medfed.data.masks import MaskedCases
from medfed.data.splits import pixel_digest
from medfed.errors import BadFile
from medfed.transforms import ImagePipeline, RawImage

__all__ = ["Facts", "Survey", "survey"]

MOST_THUMBNAILS = 48


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """One case as it was read; `problem` says why it could not be."""

    name: str
    problem: str = ""
    size: str = ""
    mode: str = ""
    spacing_mm: tuple[float, ...] | None = None
    orientation: str = ""
    low: float = 0.0
    mean: float = 0.0
    high: float = 0.0
    content: str = ""
    covered: tuple[int, ...] = ()  # pixels of each region, or the number of instances
    seconds: float = 0.0
    picture: np.ndarray | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """One dataset as it was read."""

    alias: str
    kind: str
    cases: Cases | MaskedCases
    classes: tuple[str, ...]
    facts: tuple[Facts, ...]
    wall_s: float
    cached_mib: float  # of all images as the pipeline gives them

    @property
    def readable(self) -> list[Facts]:
        """Cases that could be read."""
        return [fact for fact in self.facts if not fact.problem]

    @property
    def unreadable(self) -> list[Facts]:
        """Cases that could not be read."""
        return [fact for fact in self.facts if fact.problem]

    def counted(self, name: str) -> dict[str, int]:
        """How often each value of an attribute of the facts occurs, the most frequent first."""
        values = Counter(_text(getattr(fact, name)) for fact in self.readable)
        return dict(values.most_common())

    def duplicates(self) -> list[list[str]]:
        """Names of cases whose pixels are the same, a group each."""
        groups: dict[str, list[str]] = {}
        for fact in self.readable:
            groups.setdefault(fact.content, []).append(fact.name)
        return [names for names in groups.values() if len(names) > 1]

    def label_counts(self) -> dict[str, dict[str, int]]:
        """Positive, negative and unknown cases of each class; for masks, cases that show it or do not."""
        if isinstance(self.cases, Cases):
            labels = self.cases.labels
            return {
                name: {
                    "positive": int((labels[:, c] == 1).sum()),
                    "negative": int((labels[:, c] == 0).sum()),
                    "unknown": int((labels[:, c] < 0).sum()),
                }
                for c, name in enumerate(self.classes)
            }
        shown = (
            np.array([fact.covered for fact in self.readable]).reshape(-1, len(self.classes)) > 0
        )
        known = self.cases.known
        return {
            name: {
                "positive": int(shown[:, c].sum()) if known[c] else 0,
                "negative": int((~shown[:, c]).sum()) if known[c] else 0,
                "unknown": 0 if known[c] else len(shown),
            }
            for c, name in enumerate(self.classes)
        }


def survey(
    alias: str,
    kind: str,
    cases: Cases | MaskedCases,
    classes: tuple[str, ...],
    *,
    pipeline: ImagePipeline,
    workers: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Survey:
    """Read every case once.

    Args:
        alias: of the dataset.
        kind: of the dataset.
        cases: what to read.
        classes: of the vocabulary the cases are in.
        pipeline: the job's, or the one a job would most likely use; its time counts.
        workers: threads side by side.
        progress: told of cases done and in all.
    """
    begin = time.perf_counter()
    step = max(len(cases) // MOST_THUMBNAILS, 1)
    facts: list[Facts] = []
    for fact in _read_all(cases, pipeline, step, workers):
        facts.append(fact)
        progress(len(facts), len(cases))
    image_mib = pipeline.channels * pipeline.size**2 * 4 / 2**20
    if isinstance(cases, MaskedCases):
        image_mib = float(
            np.median([_masked_mib(fact) for fact in facts if not fact.problem] or [0.0])
        )
    wall_s = time.perf_counter() - begin
    return Survey(alias, kind, cases, classes, tuple(facts), wall_s, image_mib * len(cases))


def _read_all(
    cases: Cases | MaskedCases, pipeline: ImagePipeline, step: int, workers: int
) -> Iterator[Facts]:
    def one(index: int) -> Facts:
        begin = time.perf_counter()
        try:
            found = (
                _masked(cases, index)
                if isinstance(cases, MaskedCases)
                else _labelled(cases, index, pipeline)
            )
        except BadFile as error:
            return Facts(cases.names[index], problem=error.local)
        draw = found.pop("picture")
        picture = draw() if index % step == 0 else None
        return Facts(
            cases.names[index], **found, picture=picture, seconds=time.perf_counter() - begin
        )

    if workers == 1:
        yield from map(one, range(len(cases)))
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(one, range(len(cases)))


def _labelled(cases: Cases, index: int, pipeline: ImagePipeline) -> dict[str, Any]:
    raw = cases.raw(index)
    small = pipeline(raw)
    pixels = raw.pixels
    return {
        "size": "x".join(map(str, pixels.shape[:-3:-1])),
        "mode": raw.mode,
        "spacing_mm": raw.spacing_mm,
        "orientation": raw.orientation,
        "low": float(pixels.min()) / raw.white,
        "mean": float(small.mean()) * pipeline.std + pipeline.mean,
        "high": float(pixels.max()) / raw.white,
        "content": pixel_digest(raw),
        "picture": lambda: thumbnail(small * pipeline.std + pipeline.mean),
    }


def _masked(cases: MaskedCases, index: int) -> dict[str, Any]:
    found = cases.read(index)
    image, mask = found.image, found.mask
    covered: tuple[int, ...] = ()
    if mask is not None:
        regions = mask.ndim == image.ndim
        covered = (
            tuple(int(m.sum(dtype=np.int64)) for m in mask)
            if regions
            else (int(mask.max(initial=0)),)
        )
    return {
        "size": "x".join(map(str, image.shape[1:] if image.ndim == 4 else image.shape[:0:-1])),
        "mode": f"{len(image)} channels",
        "spacing_mm": found.spacing_mm,
        "orientation": found.orientation,
        "low": float(image.min()),
        "mean": float(image.mean()),
        "high": float(image.max()),
        "content": pixel_digest(RawImage(image, 1.0, "")),
        "covered": covered,
        "picture": lambda: masked_thumbnail(image, mask),
    }


def _masked_mib(fact: Facts) -> float:
    pixels = float(np.prod([int(n) for n in fact.size.split("x")]))
    return pixels * (4 * int(fact.mode.split()[0]) + max(len(fact.covered), 1)) / 2**20


def _text(value: object) -> str:
    if value is None or value == "":
        return "not stated"
    if isinstance(value, tuple):
        return " x ".join(f"{number:.3g}" for number in value)
    return str(value)
