"""Scores of many cases, one at a time: for validation loops, and for sites that keep their cases.

An accumulator holds sums, never a case. `merge` adds another's sums; `as_json` and `from_json` carry
them over a wire. Merging in any order gives the same numbers to the last bit.

Axes: X Y Z voxels, H W pixels.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from medfed.evaluation.absence import OUTCOMES
from medfed.evaluation.case_scores import TOLERANCE_MM, RegionScores, score_case
from medfed.evaluation.checks import InputError
from medfed.evaluation.instance_scores import InstanceScores, instance_scores
from medfed.evaluation.overlap import Counts
from medfed.evaluation.score_sums import ScoreSums

__all__ = ["InstanceSums", "RegionSums", "SegmentationSums"]

FORMAT = 1
REGION_SCORES = (
    "dice", "iou", "sensitivity", "specificity", "precision", "hausdorff", "hd95", "hd95_pooled",
    "average_surface_distance", "surface_dice",
)  # fmt: skip
INSTANCE_SCORES = (
    "aji", "aji_kumar", "aji_greedy", "aji_plus", "pq", "dq", "sq", "object_dice", "object_dice_iou",
)  # fmt: skip
VOXELS = ("both", "pred", "ref", "voxels")
OBJECTS = ("tp", "fp", "fn", "pred_objects", "ref_objects")


@dataclass(slots=True)
class RegionSums:
    """Sums of one region, or of one kind of object, over cases.

    Attributes:
        scores: sums of each score.
        totals: voxels or objects over all cases.
        outcomes: cases by the absence rule's word.
    """

    scores: dict[str, ScoreSums]
    totals: dict[str, int]
    outcomes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))

    @classmethod
    def empty(cls, scores: Iterable[str], totals: Iterable[str]) -> "RegionSums":
        """Sums of no case."""
        return cls({name: ScoreSums() for name in scores}, dict.fromkeys(totals, 0))

    def add(self, row: RegionScores | InstanceScores) -> None:
        """One case more."""
        for name in self.scores:
            self.scores[name] = self.scores[name].add(float(getattr(row, name)))
        for name in self.totals:
            self.totals[name] += int(getattr(row, name))
        self.outcomes[row.outcome] += 1

    def merge(self, other: "RegionSums") -> None:
        """Add another's sums."""
        for name in self.scores:
            self.scores[name] = self.scores[name].merge(other.scores[name])
        for name in self.totals:
            self.totals[name] += other.totals[name]
        for word in self.outcomes:
            self.outcomes[word] += other.outcomes[word]

    def pooled(self) -> Counts:
        """Voxels of all cases as if they were one; its dice() is the pooled Dice."""
        return Counts(*(self.totals[name] for name in VOXELS))

    def as_json(self) -> dict[str, Any]:
        """JSON scalars."""
        scores = {name: sums.as_json() for name, sums in self.scores.items()}
        return {"scores": scores, "totals": dict(self.totals), "outcomes": dict(self.outcomes)}

    def load(self, stored: Mapping[str, Any]) -> None:
        """Replace the sums by those of as_json.

        Raises:
            InputError: scores, totals or outcomes of other names, or no whole numbers.
        """
        try:
            same = all(
                set(stored[part]) == set(getattr(self, part))
                for part in ("scores", "totals", "outcomes")
            )
            counts = [*stored["totals"].values(), *stored["outcomes"].values()]
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"these are no sums of a region ({error}).") from None
        if not same or not all(type(count) is int and count >= 0 for count in counts):
            raise InputError("these are sums of other scores, or of another version.")
        self.scores = {name: ScoreSums.from_json(stored["scores"][name]) for name in self.scores}
        self.totals = {name: stored["totals"][name] for name in self.totals}
        self.outcomes = {word: stored["outcomes"][word] for word in self.outcomes}


class SegmentationSums:
    """Overlap and surface scores of each label and region, summed over cases.

    Args:
        labels: labels to score.
        regions: label sets by name.
        tolerance_mm: of the surface Dice.

    >>> import numpy as np
    >>> sums = SegmentationSums(labels=[1])
    >>> sums.add(np.array([[1, 1, 0]]), np.array([[1, 0, 0]]))
    >>> round(sums.mean("1", "dice"), 4)
    0.6667
    """

    def __init__(
        self,
        labels: Iterable[int] = (),
        regions: Mapping[str, Iterable[int]] | None = None,
        *,
        tolerance_mm: float = TOLERANCE_MM,
    ) -> None:
        self._labels = tuple(int(label) for label in labels)
        self._regions = {name: tuple(members) for name, members in (regions or {}).items()}
        if not (self._labels or self._regions):
            raise InputError("name the labels or regions to sum: each case may hold others.")
        self._tolerance_mm = float(tolerance_mm)
        self.reset()

    def reset(self) -> None:
        """Forget every case."""
        names = [*map(str, self._labels), *self._regions]
        self.regions = {name: RegionSums.empty(REGION_SCORES, VOXELS) for name in names}

    def add(self, pred: Any, ref: Any, *, spacing_mm: Any = None) -> None:  # noqa: ANN401
        """Score one case and add it.

        Args:
            pred: label map.
            ref: label map of the same shape.
            spacing_mm: one number an axis; None for ones.

        Raises:
            InputError: maps that cannot be scored; the sums stay as they were.
        """
        rows = score_case(
            pred, ref, labels=self._labels, regions=self._regions, spacing_mm=spacing_mm,
            tolerance_mm=self._tolerance_mm,
        )  # fmt: skip
        for name, row in rows.items():
            self.regions[name].add(row)

    def merge(self, other: "SegmentationSums") -> None:
        """Add another's sums.

        Raises:
            InputError: it sums other labels, regions or another tolerance.
        """
        if self._what() != other._what():
            raise InputError(f"sums of {other._what()} cannot be added to sums of {self._what()}.")
        for name, sums in other.regions.items():
            self.regions[name].merge(sums)

    def mean(self, region: str, score: str, *, penalty: float | None = None) -> float:
        """Mean of a score over cases.

        Args:
            region: its name.
            score: such as dice or hd95.
            penalty: what an infinite distance counts; None leaves it out.
        """
        return self.regions[region].scores[score].mean(penalty=penalty)

    def as_json(self) -> dict[str, Any]:
        """JSON scalars: what was summed, and the sums."""
        regions = {name: sums.as_json() for name, sums in self.regions.items()}
        return {"format": FORMAT, "what": self._what(), "regions": regions}

    def load(self, stored: Mapping[str, Any]) -> None:
        """Replace the sums by those of as_json, which must be of the same labels and regions.

        Raises:
            InputError: they are of something else, or damaged.
        """
        if not isinstance(stored, Mapping) or stored.get("format") != FORMAT:
            raise InputError("these are no sums of this version.")
        if stored.get("what") != self._what() or set(stored.get("regions", ())) != set(
            self.regions
        ):
            raise InputError(f"these are sums of {stored.get('what')}, not of {self._what()}.")
        fresh = {name: RegionSums.empty(REGION_SCORES, VOXELS) for name in self.regions}
        for name, sums in fresh.items():
            sums.load(stored["regions"][name])
        self.regions = fresh

    def _what(self) -> dict[str, Any]:
        return {
            "labels": list(self._labels),
            "regions": {name: list(members) for name, members in self._regions.items()},
            "tolerance_mm": self._tolerance_mm,
        }


class InstanceSums:
    """Scores of objects, summed over images.

    `sums.totals` pools objects over all images: tp, fp and fn give the detection F1 of a data set.

    Args:
        iou_threshold: a match exceeds it.
    """

    def __init__(self, *, iou_threshold: float = 0.5) -> None:
        self._iou_threshold = float(iou_threshold)
        self.reset()

    def reset(self) -> None:
        """Forget every image."""
        self.sums = RegionSums.empty(INSTANCE_SCORES, OBJECTS)

    def add(self, pred: Any, ref: Any) -> None:  # noqa: ANN401
        """Score one image and add it.

        Args:
            pred: instance map.
            ref: instance map of the same shape.

        Raises:
            InputError: maps that cannot be scored; the sums stay as they were.
        """
        self.sums.add(instance_scores(pred, ref, iou_threshold=self._iou_threshold))

    def merge(self, other: "InstanceSums") -> None:
        """Add another's sums.

        Raises:
            InputError: it has another threshold.
        """
        if self._iou_threshold != other._iou_threshold:
            raise InputError(
                f"a threshold of {other._iou_threshold} cannot be added to one of {self._iou_threshold}."
            )
        self.sums.merge(other.sums)

    def mean(self, score: str) -> float:
        """Mean of a score over images."""
        return self.sums.scores[score].mean()

    def detection_f1(self) -> float:
        """F1 of all objects of all images together; nan without any object."""
        tp, fp, fn = (self.sums.totals[name] for name in ("tp", "fp", "fn"))
        return 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else float("nan")

    def as_json(self) -> dict[str, Any]:
        """JSON scalars."""
        return {"format": FORMAT, "iou_threshold": self._iou_threshold, "sums": self.sums.as_json()}

    def load(self, stored: Mapping[str, Any]) -> None:
        """Replace the sums by those of as_json.

        Raises:
            InputError: they have another threshold, or are damaged.
        """
        if not isinstance(stored, Mapping) or stored.get("format") != FORMAT:
            raise InputError("these are no sums of this version.")
        if stored.get("iou_threshold") != self._iou_threshold:
            raise InputError(
                f"these have the threshold {stored.get('iou_threshold')}, not {self._iou_threshold}."
            )
        fresh = RegionSums.empty(INSTANCE_SCORES, OBJECTS)
        fresh.load(stored.get("sums", {}))
        self.sums = fresh
