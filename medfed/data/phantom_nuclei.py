"""Phantom nuclei: drawn H&E tiles in which every nucleus is known, touching ones included.

Axes: H rows, W columns.
"""

import hashlib

import numpy as np
from pydantic import Field
from scipy import ndimage

from medfed.data.masks import MaskedCases, MaskedImage
from medfed.data.vocabulary import Vocabulary
from medfed.job import StrictModel
from medfed.seeds import generator
from medfed.transforms.instances import consecutive

__all__ = ["NEEDS_ROOT", "Options", "draw", "open_dataset"]

NEEDS_ROOT = False
DEFAULT_TASK = "nuclei1"
HAEMATOXYLIN = np.array([0.65, 0.70, 0.29])  # optical densities after Ruifrok and Johnston 2001
EOSIN = np.array([0.07, 0.99, 0.11])
TRIES = 12  # places tried for a nucleus before the tile counts as full there


class Options(StrictModel):
    """How many tiles, and how they are stained."""

    count: int = Field(20, ge=1, le=100_000)
    first: int = Field(0, ge=0, description="number of the first tile")
    seed: int = Field(0, ge=0)
    edge: int = Field(128, ge=32, le=2048, description="pixels")
    nuclei: int = Field(25, ge=1, le=5000, description="wanted in a tile of this size")
    stain: float = Field(
        1.0, gt=0, le=3, description="strength of haematoxylin: a laboratory's own"
    )
    eosin: float = Field(1.0, gt=0, le=3)


def open_dataset(root: object, options: Options, vocabulary: Vocabulary) -> MaskedCases:
    """Phantom tiles, each of its own patient."""
    del root
    numbers = range(options.first, options.first + options.count)
    names = tuple(f"tile-{n:05d}" for n in numbers)
    known = np.ones(len(vocabulary.classes), bool)
    return MaskedCases(names, names, known, _Drawn(options), np.arange(options.count))


class _Drawn:
    def __init__(self, options: Options) -> None:
        self._options = options

    def read(self, index: int) -> MaskedImage:
        image, instances = draw(self._options, self._options.first + index)
        return MaskedImage(image, instances, (0.00025, 0.00025))

    def digest(self, index: int) -> bytes:
        found = self.read(index)
        return hashlib.sha256(found.image.tobytes() + np.asarray(found.mask).tobytes()).digest()


def draw(options: Options, number: int) -> tuple[np.ndarray, np.ndarray]:
    """One tile.

    Returns:
        (3, H, W) float32 in [0, 1]; and (H, W) int32 instances 1 .. n.
    """
    rng = generator(options.seed, "nuclei", number)
    edge = options.edge
    instances = np.zeros((edge, edge), np.int32)
    rows, columns = np.mgrid[0:edge, 0:edge].astype(np.float32)
    for nucleus in range(1, options.nuclei + 1):
        for _ in range(TRIES):
            inside = _ellipse(rng, rows, columns)
            # A nucleus may touch its neighbour but not lie on it by more than a tenth.
            if np.count_nonzero(instances[inside]) <= 0.1 * np.count_nonzero(inside):
                instances[inside & (instances == 0)] = nucleus
                break
    mask = ndimage.gaussian_filter((instances > 0).astype(np.float32), 0.7)
    grain = ndimage.gaussian_filter(rng.normal(0, 1, (2, edge, edge)), [0, 2, 2])
    haematoxylin = options.stain * mask * (0.9 + 0.6 * grain[0]) + 0.05
    eosin = options.eosin * (0.35 * (1 - mask) + 0.1) * (1 + 0.8 * grain[1])
    density = HAEMATOXYLIN[:, None, None] * haematoxylin + EOSIN[:, None, None] * eosin
    image = np.exp(-np.clip(density, 0, None)) + rng.normal(0, 0.01, density.shape)
    return np.clip(image, 0, 1).astype(np.float32), consecutive(instances)


def _ellipse(rng: np.random.Generator, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    row, column = rng.uniform(0, len(rows), 2)
    long, short = rng.uniform(6, 10), rng.uniform(4, 6)
    angle = rng.uniform(0, np.pi)
    along = (rows - row) * np.cos(angle) + (columns - column) * np.sin(angle)
    across = (columns - column) * np.cos(angle) - (rows - row) * np.sin(angle)
    return np.asarray((along / long) ** 2 + (across / short) ** 2 < 1)
