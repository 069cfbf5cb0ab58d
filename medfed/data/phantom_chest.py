"""Phantom chest X-rays: drawn, with known findings, for trying medfed without any patient's image."""

import hashlib

import numpy as np
from pydantic import Field

from medfed.data.cases import UNKNOWN, Cases
from medfed.data.vocabulary import Vocabulary
from medfed.job import StrictModel
from medfed.seeds import generator
from medfed.transforms import RawImage

__all__ = ["NEEDS_ROOT", "Options", "draw", "open_dataset"]

NEEDS_ROOT = False
DEFAULT_TASK = "cxr14"
FINDINGS = ("Cardiomegaly", "Consolidation", "Pneumothorax", "Nodule", "Mass", "Infiltration")
NOISE = 0.04


class Options(StrictModel):
    """How many phantoms, and which."""

    count: int = Field(200, ge=1, le=1_000_000)
    first: int = Field(
        0, ge=0, description="number of the first phantom: other numbers are other patients"
    )
    seed: int = Field(0, ge=0)
    edge: int = Field(96, ge=16, le=1024, description="pixels")
    images_per_patient: int = Field(2, ge=1)
    favours: str = Field("", description="a finding that is three times as common here")


class _Drawn:
    def __init__(self, options: Options, findings: np.ndarray) -> None:
        self._options, self._findings = options, findings

    def raw(self, index: int) -> RawImage:
        options = self._options
        pixels = draw(options.seed, options.first + index, self._findings[index], options.edge)
        return RawImage(pixels, 1.0, "phantom")

    def digest(self, index: int) -> bytes:
        return hashlib.sha256(self.raw(index).pixels.tobytes()).digest()


def open_dataset(root: object, options: Options, vocabulary: Vocabulary) -> Cases:
    """Phantoms with their true findings; a class that no phantom shows is unknown."""
    del root
    findings = np.stack(
        [_findings(options, i) for i in range(options.first, options.first + options.count)]
    )
    labels = np.full((options.count, len(vocabulary.classes)), UNKNOWN, np.int8)
    for name, column in vocabulary.columns("phantom_chest").items():
        if name in FINDINGS and column is not None:
            labels[:, column] = findings[:, FINDINGS.index(name)]
    numbers = range(options.first, options.first + options.count)
    return Cases(
        tuple(f"phantom-{n:06d}" for n in numbers),
        tuple(f"patient-{n // options.images_per_patient:06d}" for n in numbers),
        labels,
        _Drawn(options, findings),
        np.arange(options.count),
    )


def _findings(options: Options, number: int) -> np.ndarray:
    """(6,) int8: which findings phantom `number` shows."""
    chance = np.full(len(FINDINGS), 0.18)
    if options.favours in FINDINGS:
        chance[FINDINGS.index(options.favours)] *= 3
    return (generator(options.seed, "findings", number).random(len(FINDINGS)) < chance).astype(
        np.int8
    )


def draw(seed: int, number: int, findings: np.ndarray, edge: int) -> np.ndarray:
    """One phantom.

    Args:
        seed: of the series.
        number: of the phantom.
        findings: (6,) int8 in the order of FINDINGS.
        edge: E, pixels.

    Returns:
        (E, E) float32 in [0, 1].
    """
    rng = generator(seed, "phantom", number)
    y, x = (axis / edge for axis in np.mgrid[0:edge, 0:edge].astype(np.float32))
    shown = {name: bool(value) for name, value in zip(FINDINGS, findings, strict=True)}
    sway = rng.uniform(-0.02, 0.02, 2)
    lungs = [
        _ellipse(x, y, 0.5 + side * 0.22 + sway[0], 0.48 + sway[1], 0.16, 0.32) for side in (-1, 1)
    ]
    image = 0.75 - 0.45 * np.maximum(*lungs) * rng.uniform(0.9, 1.1)
    image += 0.03 * np.sin(y * rng.uniform(55, 65)) * np.maximum(*lungs)  # ribs
    width = 0.26 if shown["Cardiomegaly"] else 0.15
    image = np.maximum(
        image, 0.72 * _ellipse(x, y, 0.54, 0.66, width * rng.uniform(0.9, 1.1), 0.14)
    )
    side = rng.integers(0, 2)
    centre = 0.28 + 0.44 * side
    if shown["Consolidation"]:
        image += 0.3 * _ellipse(x, y, centre, rng.uniform(0.6, 0.7), 0.11, 0.1)
    if shown["Pneumothorax"]:
        outer = 0.12 + 0.76 * (1 - side)
        image -= 0.25 * _ellipse(x, y, outer, 0.3, 0.07, 0.2)
    if shown["Nodule"]:
        image += 0.35 * _ellipse(
            x, y, centre + rng.uniform(-0.05, 0.05), rng.uniform(0.3, 0.5), 0.03, 0.03
        )
    if shown["Mass"]:
        image += 0.35 * _ellipse(x, y, 0.72 - 0.44 * side, rng.uniform(0.35, 0.5), 0.075, 0.07)
    if shown["Infiltration"]:
        texture = np.kron(rng.normal(0, 1, (12, 12)), np.ones((edge // 12 + 1, edge // 12 + 1)))[
            :edge, :edge
        ]
        image += 0.09 * texture * np.maximum(*lungs)
    image += rng.normal(0, NOISE, image.shape)
    return np.asarray(np.clip(image, 0, 1), np.float32)


def _ellipse(
    x: np.ndarray, y: np.ndarray, cx: float, cy: float, rx: float, ry: float
) -> np.ndarray:
    """1 inside, 0 outside, with an edge a few pixels soft."""
    distance = np.sqrt(((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2)
    return np.asarray(np.clip((1.1 - distance) / 0.2, 0, 1), np.float32)
