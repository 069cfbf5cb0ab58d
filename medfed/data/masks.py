"""Images with masks: regions or numbered instances, read on demand.

Axes: N cases, M modalities or colours, R regions, then the image's own two or three axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

__all__ = ["MaskPixels", "MaskedCases", "MaskedImage", "region_masks"]


@dataclass(frozen=True, slots=True, eq=False)
class MaskedImage:
    """One image and its mask.

    Args:
        image: (M, ...) float32.
        mask: (R, ...) uint8 of 0 and 1, or (...) int32 instance numbers; None where nobody drew one.
        spacing_mm: edge of a pixel or voxel along each axis, where known.
        orientation: of the file, such as "LPS"; "" where it has none.
    """

    image: np.ndarray
    mask: np.ndarray | None
    spacing_mm: tuple[float, ...] | None
    orientation: str = ""


class MaskPixels(Protocol):
    """Where a dataset's images and masks come from, by position."""

    def read(self, index: int) -> MaskedImage:
        """One image and its mask; BadFile when either cannot be read or they do not fit."""
        ...

    def digest(self, index: int) -> bytes:
        """SHA-256 of the content of image and mask, 32 bytes."""
        ...


@dataclass(frozen=True)
class MaskedCases:
    """Cases of one segmentation dataset.

    Args:
        names: local names; never leave the site.
        patients: one identifier a case; never leave the site.
        known: (R,) bool: classes that this dataset annotates at all; all other mask channels are unknown.
        pixels: where images and masks are.
        rows: positions in `pixels`, one a case.
    """

    names: tuple[str, ...]
    patients: tuple[str, ...]
    known: np.ndarray
    pixels: MaskPixels
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.names)

    def read(self, index: int) -> MaskedImage:
        """One case.

        Raises:
            BadFile: image or mask cannot be read, or they do not fit; names the file.
        """
        return self.pixels.read(int(self.rows[index]))

    def digest(self, index: int) -> bytes:
        """SHA-256 of one case's content."""
        return self.pixels.digest(int(self.rows[index]))

    def subset(self, indices: Sequence[int] | np.ndarray) -> "MaskedCases":
        """The cases at these positions, in this order."""
        chosen = np.asarray(indices, np.int64)
        return MaskedCases(
            tuple(self.names[i] for i in chosen),
            tuple(self.patients[i] for i in chosen),
            self.known,
            self.pixels,
            self.rows[chosen],
        )


def region_masks(labels: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Mask values to one binary mask a class; (R, ...) uint8.

    Args:
        labels: (...) whole numbers below V.
        table: (V, R) bool, see `Vocabulary.region_table`.

    >>> region_masks(np.array([0, 2, 1]), np.array([[0, 0], [1, 0], [1, 1]], bool)).tolist()
    [[0, 1, 1], [0, 1, 0]]
    """
    return np.asarray(np.moveaxis(table.astype(np.uint8)[labels], -1, 0))
