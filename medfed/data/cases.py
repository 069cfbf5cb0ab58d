"""A table of cases: labels in the job's vocabulary in memory, pixels read on demand.

Axes: N cases, C classes.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from medfed.transforms import read_image

__all__ = ["ArrayPixels", "Cases", "FilePixels", "Pixels"]

POSITIVE, NEGATIVE, UNKNOWN = 1, 0, -1


class Pixels(Protocol):
    """Where a dataset's images come from, by position."""

    def read(self, index: int) -> np.ndarray:
        """(H, W) or (3, H, W) float32 in [0, 1]; BadFile when it cannot be read."""
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

    def read(self, index: int) -> np.ndarray:
        """Pixels of one case.

        Raises:
            BadFile: the file cannot be read; names it.
        """
        return self.pixels.read(int(self.rows[index]))

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
    """Images in files; a digest is of the file's bytes."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = tuple(paths)
        self._digests: dict[int, bytes] = {}

    def read(self, index: int) -> np.ndarray:
        """Pixels of one file."""
        return read_image(self.paths[index])

    def digest(self, index: int) -> bytes:
        """SHA-256 of one file's bytes.

        Raises:
            BadFile: the file cannot be read.
        """
        from medfed.errors import BadFile

        if index not in self._digests:
            try:
                with self.paths[index].open("rb") as file:
                    self._digests[index] = hashlib.file_digest(file, "sha256").digest()
            except OSError as error:
                raise BadFile(f"{self.paths[index]}: cannot be read ({error.strerror}).") from error
        return self._digests[index]


class ArrayPixels:
    """Images in one array; a digest is of dtype, shape and values."""

    def __init__(self, images: np.ndarray) -> None:
        self._images = images  # (N, H, W) or (N, H, W, 3) uint8

    def read(self, index: int) -> np.ndarray:
        """Pixels of one image."""
        image = self._images[index].astype(np.float32) / np.float32(255.0)
        return np.ascontiguousarray(image.transpose(2, 0, 1)) if image.ndim == 3 else image

    def digest(self, index: int) -> bytes:
        """SHA-256 of one image."""
        image = np.ascontiguousarray(self._images[index])
        head = f"{image.dtype.str}{image.shape}".encode()
        return hashlib.sha256(head + image.tobytes()).digest()
