"""What a folder evaluation is asked to compute. Light: no array library is imported here."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Literal

from medfed.errors import ConfigError

__all__ = ["Settings"]

Kind = Literal["labels", "binary", "instances"]
Side = Literal["none", "pred", "ref", "both"]
SUMMARY_ONLY = ("penalty_mm", "bootstrap", "seed")  # a case's own scores do not depend on them


@dataclass(frozen=True, slots=True)
class Settings:
    """How masks are read, brought onto one grid and scored. All of it is written beside the scores.

    Attributes:
        kind: labels scores each label and region; binary scores everything that is not 0 as one
            region; instances scores objects (AJI, PQ, object Dice and Hausdorff).
        labels: label numbers to score; empty for every label found.
        regions: named label sets, each as NAME=1,2,4.
        tolerance_mm: of the surface Dice; state it with every surface Dice you print.
        iou_threshold: a match of panoptic quality exceeds it.
        components: sides whose objects are the connected components of their foreground, for
            instances; the other side's numbers are taken as object ids.
        foreground: label that is foreground before components are made; 0 for every label but 0.
        object_hausdorff: also compute the object Hausdorff distance, the slowest of all scores.
        presets: also score as these tools do: monai, medpy, deepmind, gandlf, brats2023, ...
        threshold: prediction values at or above it are foreground, for probability maps.
        segment: score this one segment of DICOM-SEG files.
        key: array to read from .npz and .mat files that hold several.
        spacing_mm: edge of a voxel along each axis, for files that do not say it; pictures count
            pixels otherwise.
        resample: nearest moves a prediction on another grid onto the reference's; never refuses it.
        penalty_mm: what a missed or invented object, or a missing case, counts in worst-case means of
            distances; 0 for the diagonal of the case's image.
        bootstrap: resamples of the 95 % intervals.
        seed: of the resamples.
    """

    kind: Kind = "labels"
    labels: tuple[int, ...] = ()
    regions: tuple[str, ...] = ()
    tolerance_mm: float = 1.0
    iou_threshold: float = 0.5
    components: Side = "none"
    foreground: int = 0
    object_hausdorff: bool = True
    presets: tuple[str, ...] = ()
    threshold: float | None = None
    segment: int | None = None
    key: str | None = None
    spacing_mm: tuple[float, ...] = ()
    resample: Literal["never", "nearest"] = "never"
    penalty_mm: float = 0.0
    bootstrap: int = 2_000
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no case could be scored with.

        Raises:
            ConfigError: a value out of range, or options that exclude each other.
        """
        self.region_map()
        wrong = {
            f"--tolerance-mm {self.tolerance_mm}: must be 0 or more": not self.tolerance_mm >= 0,
            f"--iou-threshold {self.iou_threshold}: must lie in [0, 1)": not 0
            <= self.iou_threshold
            < 1,
            f"--penalty-mm {self.penalty_mm}: must be 0 or more": not self.penalty_mm >= 0,
            f"--bootstrap {self.bootstrap}: must be at least 1": self.bootstrap < 1,
            f"--foreground {self.foreground}: must be 0 or more": self.foreground < 0,
            f"--labels {self.labels}: must be above 0": any(label < 1 for label in self.labels),
            f"--spacing-mm {self.spacing_mm}: 2 or 3 numbers above 0": (
                len(self.spacing_mm) not in (0, 2, 3) or not all(e > 0 for e in self.spacing_mm)
            ),
            "--labels and --regions need --kind labels": (
                self.kind != "labels" and bool(self.labels or self.regions)
            ),
            "--presets need --kind labels or binary: instances have every variant as a column": (
                self.kind == "instances" and bool(self.presets)
            ),
            "--components and --foreground need --kind instances": (
                self.kind != "instances" and (self.components != "none" or self.foreground != 0)
            ),
        }
        for text, refused in wrong.items():
            if refused:
                raise ConfigError(f"{text}.")

    def region_map(self) -> dict[str, tuple[int, ...]]:
        """Label sets by name.

        Raises:
            ConfigError: text that is not NAME=1,2,4 with labels above 0, or a name given twice.
        """
        found: dict[str, tuple[int, ...]] = {}
        for text in self.regions:
            name, _, members = text.rpartition("=")
            numbers = members.replace(" ", "").split(",")
            if not name or not all(n.isdigit() and int(n) > 0 for n in numbers):
                raise ConfigError(f"--regions {text!r}: write NAME=1,2,4 with labels above 0.")
            if name in found or name in map(str, self.labels):
                raise ConfigError(f"--regions {text!r}: the name {name!r} is taken.")
            found[name] = tuple(int(n) for n in numbers)
        return found

    def public(self) -> dict[str, object]:
        """The settings as JSON values."""
        return asdict(self)

    def fingerprint(self, version: str) -> str:
        """A name for everything that a case's scores depend on, but its files.

        Args:
            version: of medfed.
        """
        kept = {k: v for k, v in self.public().items() if k not in SUMMARY_ONLY}
        text = json.dumps([version, kept], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
