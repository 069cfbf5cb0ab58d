"""Brain MRI with lesion masks in NIfTI, under the names of BraTS 2013 to 2023: volumes or axial slices.

Axes: M modalities, R regions, X left to right, Y back to front, Z foot to head.
"""

import hashlib
import threading
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from medfed.data.brats_files import LABEL_SETS, Study, label_set_of, studies
from medfed.data.cases import file_digest
from medfed.data.masks import MaskedCases, MaskedImage, region_masks
from medfed.data.vocabulary import Vocabulary
from medfed.errors import BadFile, DataError, LabelNotMapped
from medfed.job import StrictModel
from medfed.transforms.intensity import foreground, percentile_map, z_score_map
from medfed.transforms.nifti import Volume, check_same_grid, read_labels, read_volume

__all__ = ["NEEDS_ROOT", "Options", "open_dataset"]

NEEDS_ROOT = True
DEFAULT_TASK = "brain_tumour3"
KEPT_VOLUMES = 2  # neighbouring slices come from one volume; a volume of 240x240x155 takes 36 MB


class Options(StrictModel):
    """What is read, and how."""

    modalities: tuple[Literal["t1", "t1c", "t2", "flair"], ...] = Field(
        ("t2",), strict=False, min_length=1
    )
    view: Literal["slices", "volume"] = "slices"
    label_set: Literal["auto", "brats2013", "brats2018", "brats2023", "binary"] = Field(
        "auto", description="what the mask's numbers mean; auto goes by the folder's name"
    )
    smallest_px: int = Field(10, ge=0, description="slices with fewer lesion pixels are left out")
    normalise: Literal["slice_max", "z_score", "percentiles", "none"] = Field(
        "slice_max", description="slice_max is FedIOD's: each slice over its own maximum, in 8 bits"
    )


def open_dataset(root: Path, options: Options, vocabulary: Vocabulary) -> MaskedCases:
    """Every study with its mask; with `view = "slices"` its axial slices that show enough lesion.

    The masks are read here, to count each slice's lesion pixels; images are read on demand.

    Raises:
        DataError: a modality or mask is missing, or no label set fits.
        BadFile: a mask cannot be read.
        LabelNotMapped: a mask value that the label set does not know.
    """
    found = studies(root, options.modalities)
    label_set = _label_set(found, options, root)
    table, known = vocabulary.region_table(label_set)
    source = _Studies(found, options, table, label_set)
    places = [(i, z) for i in range(len(found)) for z in source.slices(i)]
    source.places = places
    names = tuple(found[i].name if z < 0 else f"{found[i].name}/{z:03d}" for i, z in places)
    patients = tuple(found[i].patient for i, _ in places)
    return MaskedCases(names, patients, known, source, np.arange(len(places)))


def source_labels(root: Path, options: Options) -> dict[str, int]:
    """In how many studies each mask value occurs."""
    counts: dict[str, int] = {}
    for study in studies(root, options.modalities):
        if "mask" in study.files:
            for value in np.unique(read_labels(study.files["mask"]).voxels):
                counts[str(value)] = counts.get(str(value), 0) + 1
    return counts


class _Studies:
    def __init__(
        self, found: list[Study], options: Options, table: np.ndarray, label_set: str
    ) -> None:
        self._found, self._options, self._table, self._label_set = found, options, table, label_set
        self.places: list[tuple[int, int]] = []
        self._kept: dict[int, tuple[list[Volume], np.ndarray]] = {}
        self._digests: dict[int, bytes] = {}
        self._lock = threading.Lock()

    def slices(self, number: int) -> list[int]:
        """Axial slices of one study that are cases; -1 stands for the whole volume."""
        labels = self._mask(number).voxels
        if self._options.view == "volume":
            return [-1]
        pixels = np.count_nonzero(labels, axis=(0, 1))
        return [int(z) for z in np.flatnonzero(pixels >= max(self._options.smallest_px, 1))]

    def read(self, index: int) -> MaskedImage:
        number, z = self.places[index]
        volumes, labels = self._volumes(number)
        first = volumes[0]
        if z < 0:
            image = np.stack([self._normalised(volume.voxels) for volume in volumes])
            return MaskedImage(
                image, region_masks(labels, self._table), first.spacing_mm, first.codes
            )
        image = np.stack([self._slice(volume.voxels, z) for volume in volumes])
        mask = region_masks(labels[:, :, z], self._table)
        return MaskedImage(image, mask, first.spacing_mm[:2], first.codes)

    def digest(self, index: int) -> bytes:
        number, z = self.places[index]
        if number not in self._digests:
            files = [
                self._found[number].files[kind] for kind in (*self._options.modalities, "mask")
            ]
            self._digests[number] = b"".join(file_digest(path) for path in files)
        return hashlib.sha256(self._digests[number] + str(z).encode()).digest()

    def _volumes(self, number: int) -> tuple[list[Volume], np.ndarray]:
        with self._lock:
            if number in self._kept:
                return self._kept[number]
        files = self._found[number].files
        volumes = [read_volume(files[kind]) for kind in self._options.modalities]
        mask = self._mask(number)
        for kind, volume in zip(self._options.modalities, volumes, strict=True):
            check_same_grid(volume, mask, names=(files[kind], files["mask"]))
        with self._lock:
            while len(self._kept) >= KEPT_VOLUMES:
                self._kept.pop(next(iter(self._kept)))
            self._kept[number] = (volumes, mask.voxels)
        return volumes, mask.voxels

    def _mask(self, number: int) -> Volume:
        path = self._found[number].files["mask"]
        mask = read_labels(path)
        known = np.append(np.flatnonzero(self._table.any(axis=1)), 0)
        unknown = sorted(set(np.unique(mask.voxels).tolist()) - set(known.tolist()))
        if unknown:
            raise LabelNotMapped(
                f"{path}: value {unknown[0]} is not in the label set {self._label_set!r} "
                f"(known: {sorted(known.tolist())}). "
                "Set label_set in site.toml to the one the masks were drawn with."
            )
        return mask

    def _normalised(self, voxels: np.ndarray) -> np.ndarray:
        how = self._options.normalise
        if how == "none":
            return np.ascontiguousarray(voxels, np.float32)
        if how == "slice_max":
            return _over_maximum(voxels)
        make = z_score_map if how == "z_score" else percentile_map
        inside = foreground(voxels)
        return np.where(inside, make(voxels, inside).apply(voxels), np.float32(0))

    def _slice(self, voxels: np.ndarray, z: int) -> np.ndarray:
        if self._options.normalise == "slice_max":
            return _over_maximum(voxels[:, :, z])
        return np.ascontiguousarray(self._normalised(voxels)[:, :, z])


def _over_maximum(values: np.ndarray) -> np.ndarray:
    """Values over their maximum in steps of 1/255, as an 8-bit image would hold them; negative ones are 0."""
    top = max(float(values.max()), 1e-6)
    return np.asarray(
        np.rint(np.clip(values / np.float32(top), 0, 1) * 255) / np.float32(255), np.float32
    )


def _label_set(found: list[Study], options: Options, root: Path) -> str:
    without = next((study for study in found if "mask" not in study.files), None)
    if without is not None:
        raise BadFile(
            f"{root / without.name}: has no mask (a file named seg, OTMultiClass or gt). Restore it."
        )
    if options.label_set != "auto":
        return options.label_set
    named = {label_set_of(study.name) for study in found}
    if len(named) == 1 and (only := named.pop()) is not None:
        return only
    raise DataError(
        f"{root}: the folders' names do not say which BraTS year they are from. Set label_set in site.toml to one "
        f"of {', '.join(LABEL_SETS)}.",
        upstream="the meaning of the mask's values is not set",
    )
