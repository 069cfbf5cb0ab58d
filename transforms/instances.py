"""Nuclei as numbered instances, as three classes with weights, and back.

Axes: H rows, W columns.
"""

from typing import Any

import numpy as np
from scipy import ndimage

__all__ = [
    "BACKGROUND",
    "CONTOUR",
    "INSIDE",
    "consecutive",
    "instances_from_ternary",
    "separated",
    "ternary_map",
    "weight_map",
]

BACKGROUND, INSIDE, CONTOUR = 0, 1, 2
CROSS = ndimage.generate_binary_structure(2, 1)


def consecutive(instances: np.ndarray) -> np.ndarray:
    """Instance numbers without gaps, 1 .. n in the old order; (H, W) int32.

    >>> consecutive(np.array([[0, 7], [300, 7]])).tolist()
    [[0, 1], [2, 1]]
    """
    numbers, inverse = np.unique(instances, return_inverse=True)
    first = 0 if numbers.size and numbers[0] == 0 else 1
    return np.asarray(inverse.reshape(instances.shape) + first, np.int32)


def separated(instances: np.ndarray) -> np.ndarray:
    """Instances of which each is one connected piece: pieces that share a number get their own."""
    numbered = consecutive(instances)
    pieces = np.zeros(instances.shape, np.int32)
    count = 0
    for number, box in enumerate(ndimage.find_objects(numbered), start=1):
        found, here = ndimage.label(numbered[box] == number)
        pieces[box][found > 0] = found[found > 0] + count
        count += here
    return pieces


def ternary_map(instances: np.ndarray) -> np.ndarray:
    """Instances to 0 background, 1 inside, 2 contour; (H, W) uint8.

    The contour is dilation minus erosion with a cross: the outermost pixel of a nucleus and the one
    beyond it, 2 px together. Touching nuclei keep a contour between them.
    """
    highest = ndimage.grey_dilation(instances, footprint=CROSS)
    # Zero must not win the minimum only because it is small: a neighbour of any other value is a border.
    lowest = ndimage.grey_erosion(instances, footprint=CROSS)
    ternary = np.where(instances > 0, INSIDE, BACKGROUND).astype(np.uint8)
    ternary[highest != lowest] = CONTOUR
    return ternary


def instances_from_ternary(
    ternary: np.ndarray, *, smallest_px: int = 20, grow_px: int = 1
) -> np.ndarray:
    """Three classes to instances: the insides are seeds, and a watershed gives them their contours back.

    Args:
        ternary: (H, W) of 0, 1, 2.
        smallest_px: insides with fewer pixels are noise.
        grow_px: how far a seed may grow into the contour; 1 undoes `ternary_map`.

    Returns:
        (H, W) int32, numbered 1 .. n.
    """
    from skimage import segmentation

    tools: Any = segmentation  # scikit-image has no types
    seeds, count = ndimage.label(ternary == INSIDE)
    sizes = np.bincount(seeds.ravel(), minlength=count + 1)
    small = sizes < smallest_px
    seeds[small[seeds]] = 0
    distance = ndimage.distance_transform_cdt(seeds == 0, metric="taxicab")
    reach = (distance <= grow_px) & ((ternary != BACKGROUND) | (seeds > 0))
    return consecutive(tools.watershed(distance, seeds, mask=reach))


def weight_map(instances: np.ndarray, *, peak: float = 10.0, sigma_px: float = 5.0) -> np.ndarray:
    """Weights that are high in narrow gaps between nuclei: 1 + peak * exp(-(d1 + d2)^2 / (2 sigma^2)).

    d1 and d2 are the distances to the nearest and the second nearest nucleus; the term counts in the
    background only.

    Returns:
        (H, W) float32, at least 1.

    Source: Ronneberger et al. 2015, eq. 2, with 1 as the class term.
    """
    reach = int(np.ceil(4 * sigma_px))  # beyond this the term is below peak * exp(-8)
    nearest = np.full((2, *instances.shape), np.inf, np.float32)
    numbered = consecutive(instances)
    for number, box in enumerate(ndimage.find_objects(numbered), start=1):
        wide = tuple(slice(max(s.start - reach, 0), s.stop + reach) for s in box)
        distance = ndimage.distance_transform_edt(numbered[wide] != number).astype(np.float32)
        first, second = nearest[0][wide], nearest[1][wide]
        second[...] = np.minimum(second, np.maximum(first, distance))
        first[...] = np.minimum(first, distance)
    gap = np.exp(-((nearest[0] + nearest[1]) ** 2) / (2 * sigma_px**2))
    return np.asarray(1 + peak * np.where(instances == 0, gap, 0), np.float32)
