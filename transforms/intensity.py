"""Intensity normalisation inside the foreground.

Axes: any; the foreground has the image's shape.
"""

from dataclasses import dataclass

import numpy as np

__all__ = ["Linear", "foreground", "percentile_map", "z_score_map"]

SMALLEST_SPREAD = 1e-6  # a constant image has no contrast to stretch


@dataclass(frozen=True, slots=True)
class Linear:
    """The map x -> (x - shift) / scale; a normalisation as two numbers, which can be undone."""

    shift: float
    scale: float

    def apply(self, values: np.ndarray) -> np.ndarray:
        """Normalised values."""
        return np.asarray((values - np.float32(self.shift)) / np.float32(self.scale), np.float32)

    def undo(self, values: np.ndarray) -> np.ndarray:
        """Values before the normalisation."""
        return np.asarray(values * np.float32(self.scale) + np.float32(self.shift), np.float32)


def foreground(image: np.ndarray) -> np.ndarray:
    """Voxels that differ from the image's most common value at its border.

    Skull-stripped scans and radiographs with a collimator have one value outside, which need not be 0: a
    scan whose mean was subtracted has a negative one.

    >>> int(foreground(np.array([[-2.0, -2.0, -2.0], [-2.0, 1.0, -2.0], [-2.0, -2.0, -2.0]])).sum())
    1
    """
    edges = [np.take(image, position, axis) for axis in range(image.ndim) for position in (0, -1)]
    values, counts = np.unique(np.concatenate([edge.ravel() for edge in edges]), return_counts=True)
    return np.asarray(image != values[counts.argmax()])


def z_score_map(image: np.ndarray, inside: np.ndarray) -> Linear:
    """Mean 0 and deviation 1 inside the foreground; an empty foreground counts as all of the image."""
    seen = image[inside] if inside.any() else image
    return Linear(
        float(seen.mean(dtype=np.float64)), max(float(seen.std(dtype=np.float64)), SMALLEST_SPREAD)
    )


def percentile_map(
    image: np.ndarray, inside: np.ndarray, *, lower: float = 1.0, upper: float = 99.0
) -> Linear:
    """The lower and upper percentile inside the foreground become 0 and 1; nothing is clipped."""
    seen = image[inside] if inside.any() else image
    low, high = np.percentile(seen, [lower, upper])
    return Linear(float(low), max(float(high - low), SMALLEST_SPREAD))
