"""Phantom brains: drawn T1, T1c, T2 and FLAIR with a tumour whose tissues are known.

Axes: M modalities, R regions, X left to right, Y back to front, Z foot to head.
"""

import hashlib
from typing import Literal

import numpy as np
from pydantic import Field
from scipy import ndimage

from medfed.data.masks import MaskedCases, MaskedImage, region_masks
from medfed.data.vocabulary import Vocabulary
from medfed.job import StrictModel
from medfed.seeds import generator

__all__ = ["NEEDS_ROOT", "Options", "draw", "open_dataset"]

NEEDS_ROOT = False
DEFAULT_TASK = "brain_tumour3"
NOISE = 0.03
# Brightness of: white matter, grey matter, fluid, necrosis, oedema, enhancing tumour.
CONTRAST = {
    "t1": (0.75, 0.6, 0.25, 0.35, 0.5, 0.55),
    "t1c": (0.72, 0.58, 0.25, 0.3, 0.5, 0.98),
    "t2": (0.4, 0.55, 0.95, 0.85, 0.8, 0.65),
    "flair": (0.45, 0.55, 0.15, 0.5, 0.9, 0.7),
}


class Options(StrictModel):
    """How many phantoms, and which."""

    count: int = Field(20, ge=1, le=100_000, description="patients")
    first: int = Field(0, ge=0, description="number of the first patient")
    seed: int = Field(0, ge=0)
    edge: int = Field(64, ge=24, le=256, description="voxels along X and Y")
    depth: int = Field(16, ge=4, le=256, description="voxels along Z")
    modalities: tuple[Literal["t1", "t1c", "t2", "flair"], ...] = Field(
        ("t2",), strict=False, min_length=1
    )
    view: Literal["slices", "volume"] = "slices"
    smallest_px: int = Field(10, ge=0)
    brightness: float = Field(1.0, gt=0, le=4, description="a scanner's own scale")


def open_dataset(root: object, options: Options, vocabulary: Vocabulary) -> MaskedCases:
    """Phantom patients with their true regions; the mask's numbers are those of `brats2018`."""
    del root
    table, known = vocabulary.region_table("brats2018")
    places = []
    for number in range(options.first, options.first + options.count):
        if options.view == "volume":
            places.append((number, -1))
            continue
        lesion = np.count_nonzero(_tissue(options, number)[1], axis=(0, 1))
        places += [(number, int(z)) for z in np.flatnonzero(lesion >= max(options.smallest_px, 1))]
    names = tuple(f"brain-{n:05d}" if z < 0 else f"brain-{n:05d}/{z:03d}" for n, z in places)
    patients = tuple(f"brain-{n:05d}" for n, _ in places)
    return MaskedCases(
        names, patients, known, _Drawn(options, places, table), np.arange(len(places))
    )


class _Drawn:
    def __init__(self, options: Options, places: list[tuple[int, int]], table: np.ndarray) -> None:
        self._options, self._places, self._table = options, places, table

    def read(self, index: int) -> MaskedImage:
        number, z = self._places[index]
        image, labels = draw(self._options, number)
        if z >= 0:
            image, labels = image[..., z], labels[..., z]
        spacing = (240 / self._options.edge,) * 2 + (() if z >= 0 else (155 / self._options.depth,))
        return MaskedImage(
            np.ascontiguousarray(image), region_masks(labels, self._table), spacing, "RAS"
        )

    def digest(self, index: int) -> bytes:
        found = self.read(index)
        return hashlib.sha256(found.image.tobytes() + np.asarray(found.mask).tobytes()).digest()


def draw(options: Options, number: int) -> tuple[np.ndarray, np.ndarray]:
    """One patient.

    Returns:
        (M, X, Y, Z) float32 in [0, 1] times the scanner's brightness, 0 outside the brain; and
        (X, Y, Z) uint8 of 0, 1 necrosis, 2 oedema, 4 enhancing tumour.
    """
    tissue, labels = _tissue(options, number)
    rng = generator(options.seed, "brain-noise", number)
    classes = np.where(labels > 0, np.array([0, 4, 5, 0, 6], np.uint8)[labels], tissue)
    planes = []
    for name in options.modalities:
        values = np.array((0.0, *CONTRAST[name]), np.float32)[classes]
        values = ndimage.gaussian_filter(values, 0.6) + rng.normal(0, NOISE, values.shape)
        planes.append(np.where(classes > 0, np.clip(values, 0.02, 1), 0) * options.brightness)
    return np.stack(planes).astype(np.float32), labels


def _tissue(options: Options, number: int) -> tuple[np.ndarray, np.ndarray]:
    """(X, Y, Z) of 0 outside, 1 white matter, 2 grey matter, 3 fluid; and the tumour's labels."""
    rng = generator(options.seed, "brain", number)
    axes = [
        np.linspace(-1, 1, n, dtype=np.float32) for n in (options.edge, options.edge, options.depth)
    ]
    x, y, z = np.meshgrid(*axes, indexing="ij")
    wobble = ndimage.gaussian_filter(
        rng.normal(0, 1, x.shape), [options.edge / 16, options.edge / 16, 1]
    )
    wobble *= 0.08 / max(float(np.abs(wobble).max()), 1e-6)
    head = np.sqrt((x / 0.72) ** 2 + (y / 0.9) ** 2 + (z / 1.15) ** 2) + wobble
    fluid = np.sqrt(((np.abs(x) - 0.12) / 0.09) ** 2 + (y / 0.35) ** 2 + (z / 0.6) ** 2) < 1
    tissue = np.where(head < 0.95, np.where(head > 0.8, 2, 1), 0).astype(np.uint8)
    tissue[fluid & (tissue > 0)] = 3
    centre = rng.uniform([-0.4, -0.5, -0.4], [0.4, 0.5, 0.4])
    radius = rng.uniform(0.16, 0.34)
    stretch = rng.uniform(0.8, 1.25, 3)
    away = np.sqrt(
        sum(((axis - c) * s) ** 2 for axis, c, s in zip((x, y, z), centre, stretch, strict=True))
    )
    away = away / radius + 3 * wobble
    labels = np.where(away < 0.45, 1, np.where(away < 0.65, 4, np.where(away < 1, 2, 0))).astype(
        np.uint8
    )
    labels[tissue == 0] = 0
    return tissue, labels
