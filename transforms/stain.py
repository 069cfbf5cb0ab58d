"""Stain normalisation of H&E images to reference statistics that are a few numbers.

A reference is six numbers (Reinhard) or eight (Macenko), so sites can share it without an image.

Axes: H rows, W columns, P pixels.
"""

from dataclasses import dataclass

import numpy as np

__all__ = [
    "MacenkoReference",
    "ReinhardReference",
    "macenko",
    "macenko_reference",
    "reinhard",
    "reinhard_reference",
]

LIGHT = 240.0  # transmitted light I_0 on a scale of 255, as Macenko et al. use
TRANSPARENT = 0.15  # optical density below which a pixel shows no stain
ANGLE_TAIL = 1.0  # percentile of the angles that counts as the extreme stain
STRONGEST = 99.0  # percentile of a concentration that counts as its maximum


@dataclass(frozen=True, slots=True)
class ReinhardReference:
    """Mean and deviation of L, a, b (CIELAB) over the tissue."""

    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class MacenkoReference:
    """Optical densities of haematoxylin and eosin, and their strongest concentrations."""

    haematoxylin: tuple[float, float, float]
    eosin: tuple[float, float, float]
    strongest: tuple[float, float]


def reinhard_reference(image: np.ndarray) -> ReinhardReference:
    """The statistics of one image, (3, H, W) in [0, 1]."""
    lab, tissue = _lab(image)
    mean, deviation = _moments(lab[tissue])
    return ReinhardReference(_three(mean), _three(deviation))


def reinhard(image: np.ndarray, reference: ReinhardReference) -> np.ndarray:
    """(3, H, W) float32 in [0, 1] with the reference's mean and deviation of L, a, b over the tissue.

    Source: Reinhard et al. 2001, eq. 10 and 11, in CIELAB instead of l-alpha-beta.
    """
    from skimage.color import lab2rgb

    lab, tissue = _lab(image)
    mean, deviation = _moments(lab[tissue])
    moved = (lab - mean) / deviation * np.array(reference.deviation) + np.array(reference.mean)
    moved[..., 0] = np.clip(moved[..., 0], 0, 100)
    return np.ascontiguousarray(lab2rgb(moved).transpose(2, 0, 1).astype(np.float32))


def macenko_reference(image: np.ndarray) -> MacenkoReference:
    """The stains of one image, (3, H, W) in [0, 1].

    Raises:
        ValueError: too little tissue to find two stains.
    """
    density = _density(image)
    stains = _stains(density)
    strongest = np.percentile(_concentrations(density, stains), STRONGEST, axis=1)
    return MacenkoReference(
        _three(stains[:, 0]), _three(stains[:, 1]), (float(strongest[0]), float(strongest[1]))
    )


def macenko(image: np.ndarray, reference: MacenkoReference) -> np.ndarray:
    """(3, H, W) float32 in [0, 1] with the image's own stains replaced by the reference's.

    Raises:
        ValueError: too little tissue to find two stains.

    Source: Macenko et al. 2009, section 2.
    """
    density = _density(image)
    amounts = _concentrations(density, _stains(density))
    strongest = np.maximum(np.percentile(amounts, STRONGEST, axis=1), 1e-6)
    amounts *= (np.array(reference.strongest) / strongest)[:, None]
    target = np.column_stack([reference.haematoxylin, reference.eosin])
    pixels = np.clip(LIGHT * np.exp(-(target @ amounts)), 0, 255) / 255
    return np.asarray(pixels.reshape(image.shape), np.float32)


def _lab(image: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(H, W, 3) CIELAB, and (H, W) bool: pixels darker than bare glass."""
    from skimage.color import rgb2lab

    pixels = image.transpose(1, 2, 0)
    tissue = (pixels < LIGHT / 255 * np.exp(-TRANSPARENT)).any(axis=-1)
    return rgb2lab(pixels), tissue if tissue.any() else np.ones_like(tissue)


def _moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return values.mean(axis=0), np.maximum(values.std(axis=0), 1e-6)


def _density(image: np.ndarray) -> np.ndarray:
    """(3, P) natural optical density."""
    light = np.maximum(image.reshape(3, -1).astype(np.float64) * 255, 1.0)
    return np.asarray(np.maximum(-np.log(light / LIGHT), 0.0))


def _stains(density: np.ndarray) -> np.ndarray:
    """(3, 2) unit vectors of haematoxylin and eosin."""
    seen = density[:, (density > TRANSPARENT).all(axis=0)]
    if seen.shape[1] < 100:
        raise ValueError("fewer than 100 stained pixels: the tile shows no tissue to normalise")
    _, vectors = np.linalg.eigh(np.cov(seen))
    plane = vectors[:, [2, 1]]
    plane *= np.where(plane.sum(axis=0) < 0, -1.0, 1.0)
    angle = np.arctan2(*(plane.T @ seen)[::-1])
    extremes = np.percentile(angle, [ANGLE_TAIL, 100 - ANGLE_TAIL])
    found = plane @ np.stack([np.cos(extremes), np.sin(extremes)])
    found = np.abs(found) if (found < 0).all() else found
    # Haematoxylin takes away more red light than eosin does.
    return np.asarray(found[:, np.argsort(-found[0])])


def _concentrations(density: np.ndarray, stains: np.ndarray) -> np.ndarray:
    """(2, P) amounts of each stain, by least squares."""
    return np.asarray(np.maximum(np.linalg.lstsq(stains, density, rcond=None)[0], 0.0))


def _three(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z
