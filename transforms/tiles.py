"""Overlapping tiles of a large image, and the large image from what a network made of them.

Axes: T tiles, C channels, H rows, W columns, S edge of a tile.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

__all__ = ["TilePlan"]


@dataclass(frozen=True, slots=True)
class TilePlan:
    """Where the tiles of an image of one size lie.

    Neighbouring tiles share at least `overlap` pixels; the last ones end at the border. An image
    smaller than a tile is padded with zeros at its right and lower edge.

    Args:
        shape: (H, W) of the image.
        size: S.
        overlap: pixels, below S.
    """

    shape: tuple[int, int]
    size: int
    overlap: int = 0

    def __post_init__(self) -> None:
        if self.size < 1 or not 0 <= self.overlap < self.size:
            raise ValueError(
                f"overlap {self.overlap} must be 0 or more and below the size {self.size}"
            )

    @property
    def origins(self) -> tuple[tuple[int, int], ...]:
        """Upper left corner of each tile, row by row."""
        rows, columns = (_starts(n, self.size, self.overlap) for n in self.shape)
        return tuple((row, column) for row in rows for column in columns)

    def cut(self, image: np.ndarray) -> np.ndarray:
        """(C, H, W) or (H, W) to (T, C, S, S) or (T, S, S), of the same type."""
        self._check(image.shape[-2:])
        short = [max(self.size - n, 0) for n in self.shape]
        padded = (
            np.pad(image, [(0, 0)] * (image.ndim - 2) + [(0, n) for n in short])
            if any(short)
            else image
        )
        return np.stack(
            [padded[..., r : r + self.size, c : c + self.size] for r, c in self.origins]
        )

    def stitch(
        self, tiles: np.ndarray, *, seam: Literal["blend", "centre"] = "blend"
    ) -> np.ndarray:
        """(T, C, S, S) or (T, S, S) to (C, H, W) or (H, W).

        "blend" averages tiles where they overlap, with weights that fall towards a tile's border, so no
        seam shows. "centre" takes each pixel from the one tile whose border is furthest away, which
        also suits class numbers; it keeps the type.
        """
        if len(tiles) != len(self.origins):
            raise ValueError(f"{len(tiles)} tiles for a plan of {len(self.origins)}")
        height, width = (max(n, self.size) for n in self.shape)
        inner = tiles.shape[1:-2]
        best = np.zeros((height, width), np.float32)
        kind = np.float32 if seam == "blend" else tiles.dtype
        whole = np.zeros((*inner, height, width), kind)
        weight = _weight(self.size)
        for tile, (row, column) in zip(tiles, self.origins, strict=True):
            here = (slice(row, row + self.size), slice(column, column + self.size))
            if seam == "blend":
                whole[..., *here] += tile * weight
                best[here] += weight
            else:
                nearer = weight > best[here]
                whole[..., *here] = np.where(nearer, tile, whole[..., *here])
                best[here] = np.maximum(best[here], weight)
        stitched = whole / best if seam == "blend" else whole
        return np.asarray(stitched[..., : self.shape[0], : self.shape[1]])

    def _check(self, shape: tuple[int, ...]) -> None:
        if tuple(shape) != tuple(self.shape):
            raise ValueError(f"the plan is for {self.shape}, the image has {tuple(shape)}")


def _starts(length: int, size: int, overlap: int) -> list[int]:
    if length <= size:
        return [0]
    count = 1 + -(-(length - size) // (size - overlap))
    # Even spacing: the overlap is shared out instead of falling on the last pair of tiles.
    return [round(i * (length - size) / (count - 1)) for i in range(count)]


def _weight(size: int) -> np.ndarray:
    """(S, S) float32: a pyramid with its top in the middle, above 0 at the border."""
    ramp = np.minimum(np.arange(1, size + 1), np.arange(size, 0, -1)).astype(np.float32)
    return np.asarray(np.minimum(ramp[:, None], ramp[None, :]) / ramp.max(), np.float32)
