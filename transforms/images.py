"""PNG, JPEG and TIFF of any mode into float arrays.

Axes: H rows, W columns.
"""

from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from medfed.errors import BadFile

__all__ = ["LARGEST_PIXELS", "decode_image", "read_image"]

LARGEST_PIXELS = (
    200_000_000  # more than any radiograph; a header that claims more is damaged or hostile
)
Image.MAX_IMAGE_PIXELS = LARGEST_PIXELS


def read_image(path: Path) -> np.ndarray:
    """The pixels of an image file, scaled to [0, 1] by the range of its type.

    Grey modes (1, L, LA, I;16, I, F) give (H, W); colour modes (RGB, RGBA, P, CMYK, YCbCr) give
    (3, H, W). An alpha channel is dropped.

    Args:
        path: a PNG, JPEG, TIFF or BMP file.

    Returns:
        float32 in [0, 1], C-contiguous.

    Raises:
        BadFile: missing, truncated, not an image, or far too large.
    """
    try:
        with Image.open(path) as image:
            return decode_image(image)
    except FileNotFoundError as error:
        raise BadFile(
            f"{path}: is missing. Restore the file or take its row out of the table."
        ) from error
    except UnidentifiedImageError as error:
        raise BadFile(
            f"{path}: is not an image that can be read. Export it again as PNG."
        ) from error
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise BadFile(
            f"{path}: cannot be decoded ({error}). Copy or export the file again."
        ) from error


def decode_image(image: Image.Image) -> np.ndarray:
    """The pixels of an opened image, as `read_image` gives them."""
    if image.mode in ("P", "PA", "RGBA", "CMYK", "YCbCr", "HSV", "LAB", "RGBX", "RGBa"):
        image = image.convert("RGB")
    elif image.mode in ("LA", "La"):
        image = image.convert("L")
    pixels = np.asarray(image)
    if pixels.size == 0:
        raise ValueError("the image has no pixels")
    scaled = _scaled(pixels)
    return np.ascontiguousarray(scaled.transpose(2, 0, 1) if scaled.ndim == 3 else scaled)


def _scaled(pixels: np.ndarray) -> np.ndarray:
    if pixels.dtype == np.bool_:
        return pixels.astype(np.float32)
    if pixels.dtype.kind == "f":
        if not np.isfinite(pixels).all():
            raise ValueError("the image holds NaN or infinite values")
        return np.asarray(np.clip(pixels, 0.0, 1.0), np.float32)
    # Pillow opens 16-bit PNG as 32-bit integers, whose own range would make every image black.
    top = 255.0 if pixels.dtype == np.uint8 else 65_535.0
    return np.asarray(np.clip(pixels.astype(np.float32) / np.float32(top), 0.0, 1.0))
