"""A table of cases: labels in the job's vocabulary in memory, pixels read on demand.

Axes: N cases, C classes.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from medfed.errors import BadFile
from medfed.transforms import RawImage
from medfed.transforms.dicom import is_dicom, read_dicom
from medfed.transforms.images import read_raw

__all__ = ["ArrayPixels", "Cases", "FilePixels", "Pixels", "file_digest"]

POSITIVE, NEGATIVE, UNKNOWN = 1, 0, -1


class Pixels(Protocol):
    """Where a dataset's images come from, by position."""

    def raw(self, index: int) -> RawImage:
        """One image as it is stored; BadFile when it cannot be read."""
        ...

    def digest(self, index: int) -> bytes:
        """SHA-256 of the image's content, 32 bytes."""
        ...


@dataclass(frozen=True)
class Cases:
    """Cases of one dataset.

    Args:
        names: local names; never leave the site.
        patients: one identifier a case; never leave the site.
        labels: (N, C) int8: 1 positive, 0 negative, -1 unknown; one-hot rows for single-label tasks.
        pixels: where the images are.
        rows: positions in `pixels`, one a case.
    """

    names: tuple[str, ...]
    patients: tuple[str, ...]
    labels: np.ndarray
    pixels: Pixels
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.names)

    @property
    def annotated(self) -> np.ndarray:
        """(C,) bool: classes with a known label in at least one case."""
        return np.asarray((self.labels >= 0).any(axis=0))

    def raw(self, index: int) -> RawImage:
        """One case's image as it is stored.

        Raises:
            BadFile: the file cannot be read; names it.
        """
        return self.pixels.raw(int(self.rows[index]))

    def read(self, index: int) -> np.ndarray:
        """One case's image, (H, W) or (3, H, W) float32 in [0, 1].

        Raises:
            BadFile: the file cannot be read; names it.
        """
        return self.raw(index).scaled()

    def digest(self, index: int) -> bytes:
        """SHA-256 of one case's content."""
        return self.pixels.digest(int(self.rows[index]))

    def subset(self, indices: Sequence[int] | np.ndarray) -> "Cases":
        """The cases at these positions, in this order."""
        chosen = np.asarray(indices, np.int64)
        return Cases(
            tuple(self.names[i] for i in chosen),
            tuple(self.patients[i] for i in chosen),
            self.labels[chosen],
            self.pixels,
            self.rows[chosen],
        )


class FilePixels:
    """Images in files, DICOM or any other; a digest is of the file's bytes."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        self._digests: dict[int, bytes] = {}

    def raw(self, index: int) -> RawImage:
        """One file's image."""
        path = self.paths[index]
        return read_dicom(path) if is_dicom(path) else read_raw(path)

    def digest(self, index: int) -> bytes:
        """SHA-256 of one file's bytes.

        Raises:
            BadFile: the file cannot be read.
        """
        if index not in self._digests:
            self._digests[index] = file_digest(self.paths[index])
        return self._digests[index]


class ArrayPixels:
    """Images in one array; a digest is of dtype, shape and values."""

    def __init__(self, images: np.ndarray) -> None:
        self._images = images  # (N, H, W) or (N, H, W, 3) uint8

    def raw(self, index: int) -> RawImage:
        """One image."""
        image = self._images[index]
        if image.ndim == 2:
            return RawImage(image, 255.0, "L")
        return RawImage(np.ascontiguousarray(image.transpose(2, 0, 1)), 255.0, "RGB")

    def digest(self, index: int) -> bytes:
        """SHA-256 of one image."""
        image = np.ascontiguousarray(self._images[index])
        head = f"{image.dtype.str}{image.shape}".encode()
        return hashlib.sha256(head + image.tobytes()).digest()


def file_digest(path: Path) -> bytes:
    """SHA-256 of a file's bytes, read piece by piece.

    Raises:
        BadFile: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise BadFile(f"{path}: cannot be read ({error.strerror}).") from error
