"""The one image pipeline of a job: the same object serves training, labelling and export.

Axes: C channels, H rows, W columns, S edge after resizing.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np
from PIL import Image

from medfed.transforms.images import RawImage

__all__ = ["ImagePipeline"]

LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)  # ITU-R BT.601, as Pillow's mode L


@dataclass(frozen=True, slots=True)
class ImagePipeline:
    """Channels, size and intensity of every image that a network sees.

    Args:
        size: S; the image is stretched to S x S with an antialiased bilinear filter.
        channels: 1 (colour becomes luminance) or 3 (grey is repeated).
        mean: subtracted from values in [0, 1].
        std: what is left is divided by this.
    """

    size: int
    channels: int = 1
    mean: float = 0.5
    std: float = 0.5

    VERSION: ClassVar[int] = 2  # raised when the same parameters would give other values

    def __call__(self, pixels: np.ndarray | RawImage) -> np.ndarray:
        """An image to what the network sees.

        Args:
            pixels: (H, W) or (3, H, W) float32 in [0, 1], or an image as its file stores it.

        Returns:
            (C, S, S) float32.
        """
        image = pixels if isinstance(pixels, RawImage) else RawImage(pixels, 1.0, "")
        white, planes = image.white, image.pixels[None] if image.pixels.ndim == 2 else image.pixels
        if self.channels == 1 and len(planes) == 3:
            planes = np.einsum(
                "c,chw->hw", LUMINANCE, planes, dtype=np.float32, casting="same_kind"
            )[None]
        resized = np.stack([self._resized(plane) for plane in planes])
        if self.channels == 3 and len(resized) == 1:
            resized = np.repeat(resized, 3, axis=0)
        # Scaling comes after resizing, which is linear: far fewer pixels are left by then.
        unit = resized / np.float32(white) if white != 1.0 else resized
        return np.asarray((unit - np.float32(self.mean)) / np.float32(self.std))

    def fingerprint(self) -> str:
        """Sixteen hex digits that change with any parameter or with the algorithm."""
        text = json.dumps({**asdict(self), "version": self.VERSION}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _resized(self, plane: np.ndarray) -> np.ndarray:
        if plane.shape == (self.size, self.size):
            return np.asarray(plane, np.float32)
        if (
            plane.dtype == np.uint8
        ):  # Pillow widens bytes to floats faster than numpy copies floats in
            image = Image.fromarray(np.ascontiguousarray(plane)).convert("F")
        else:
            image = Image.fromarray(np.ascontiguousarray(plane, np.float32))
        return np.asarray(
            image.resize((self.size, self.size), Image.Resampling.BILINEAR), np.float32
        )
