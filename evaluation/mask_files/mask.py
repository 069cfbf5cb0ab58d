"""What every reader gives back, and the checks that all formats share.

Axes: X Y Z voxels along i, j, k of a scanner volume; H W pixels of a picture.
"""

from dataclasses import dataclass, field

import numpy as np

from medfed.errors import BadFile

__all__ = ["Mask", "ReadOptions", "labels_of", "mask_of", "spacing_of"]

ROUNDING = 1e-3  # a stored slope such as 0.99999997 misses whole labels by far less than this


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Choices that some files need.

    Attributes:
        key: array to take from .npz or .mat files that hold several.
        segment: the one segment of a DICOM-SEG to read, as a binary mask.
        threshold: values at or above it are foreground; for probability maps.
    """

    key: str | None = None
    segment: int | None = None
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class Mask:
    """A mask or label map and where it lies.

    Attributes:
        array: (X, Y, Z) or (H, W), bool or unsigned integers.
        spacing_mm: one number an axis of the array; None where the file says nothing.
        affine: (4, 4) from voxel indices to millimetres, right, anterior, superior; None likewise.
        sparse: whether the file holds only the slices with content, so that its extent says nothing.
        notes: what a reader of the scores should know about the file.
    """

    array: np.ndarray
    spacing_mm: tuple[float, ...] | None = None
    affine: np.ndarray | None = None
    sparse: bool = False
    notes: tuple[str, ...] = field(default=())


def mask_of(array: np.ndarray, name: str, options: ReadOptions) -> np.ndarray:
    """Foreground at a threshold where one is asked for, labels otherwise.

    Raises:
        BadFile: values that are neither.
    """
    if options.threshold is None:
        return labels_of(array, name)
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise BadFile(f"{name}: holds nan, on neither side of the threshold {options.threshold}.")
    return np.asarray(array >= options.threshold)


def labels_of(array: np.ndarray, name: str) -> np.ndarray:
    """The same labels as bool or unsigned integers of the smallest type that holds them.

    Args:
        array: bool, integers, or real numbers that are whole but for rounding.
        name: of the file.

    Raises:
        BadFile: fractions, nan, negative numbers, colours or another type.
    """
    if array.dtype.names or array.dtype.kind not in "buif":
        raise BadFile(f"{name}: values of type {array.dtype} are no labels; save whole numbers.")
    if array.dtype.kind == "b" or not array.size:
        return array
    low, high = array.min(), array.max()
    if not low >= (-ROUNDING if array.dtype.kind == "f" else 0):
        raise BadFile(f"{name}: holds {low}; labels are whole numbers from 0, and nan is none.")
    if array.dtype.kind == "f":
        return _whole(array, float(high), name)
    return array.astype(np.min_scalar_type(int(high)), copy=False)


def _whole(array: np.ndarray, high: float, name: str) -> np.ndarray:
    if not high < 2.0**53:
        raise BadFile(f"{name}: holds {high}, beyond the whole numbers of its type.")
    smallest = np.min_scalar_type(int(high + 0.5))
    with np.errstate(invalid="ignore"):  # -0.0004 wraps; it is then found to differ
        cut = array.astype(smallest)
    if np.array_equal(cut, array):
        return cut
    whole = np.rint(array)
    if float(np.abs(whole - array).max()) > ROUNDING:
        raise BadFile(
            f"{name}: holds fractions up to {high:g}, so it is no label map. For a probability map give "
            "--threshold 0.5; for an image, check the path."
        )
    return np.asarray(np.abs(whole).astype(smallest))  # -0.0 becomes 0


def spacing_of(affine: np.ndarray, dimensions: int) -> tuple[float, ...]:
    """Edge of a voxel along each axis, in millimetres.

    Args:
        affine: (4, 4).
        dimensions: axes of the array.
    """
    edges = np.sqrt((affine[:3, :dimensions] ** 2).sum(axis=0))
    return tuple(float(edge) for edge in edges)
