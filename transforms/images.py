"""PNG, JPEG and TIFF of any mode into arrays.

Axes: H rows, W columns.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from medfed.errors import BadFile

__all__ = [
    "LARGEST_BYTES",
    "LARGEST_PIXELS",
    "RawImage",
    "check_size",
    "decode_image",
    "read_image",
    "read_raw",
]

LARGEST_PIXELS = (
    200_000_000  # more than any radiograph; a header that claims more is damaged or hostile
)
LARGEST_BYTES = (
    1 << 30
)  # a whole-slide scan belongs in tiles; reading it whole would fill the memory
Image.MAX_IMAGE_PIXELS = LARGEST_PIXELS
TIFF_BITS_PER_SAMPLE = 258
COLOUR_MODES = ("P", "PA", "RGBA", "CMYK", "YCbCr", "HSV", "LAB", "RGBX", "RGBa")


@dataclass(frozen=True, slots=True, eq=False)
class RawImage:
    r"""One image as its file stores it.

    Args:
        pixels: (H, W) or (3, H, W); uint8, uint16 or float32.
        white: the value that counts as 1.0: 255, 65535, or 1.0 for floats.
        mode: what the file held, such as "L", "RGBA" or "DICOM MONOCHROME1 12 bit".
        spacing_mm: edge of a pixel along H and W, where the file says so.
        orientation: the patient's direction along W and H, such as "L\F", where the file says so.
    """

    pixels: np.ndarray
    white: float
    mode: str
    spacing_mm: tuple[float, float] | None = None
    orientation: str = ""

    def scaled(self) -> np.ndarray:
        """The pixels as float32 in [0, 1]."""
        if self.pixels.dtype == np.float32:
            return self.pixels
        return self.pixels.astype(np.float32) / np.float32(self.white)


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
    return read_raw(path).scaled()


def read_raw(path: Path) -> RawImage:
    """The pixels of an image file in the type that the file stores.

    Raises:
        BadFile: as `read_image`.
    """
    check_size(path)
    try:
        try:
            with Image.open(path) as image:
                if image.mode == "RGB" and max(_tiff_bits(image)) > 8:
                    return _read_tiff(path)  # Pillow would drop the lower byte
                return decode_image(image)
        except UnidentifiedImageError:
            if path.suffix.lower() in (".tif", ".tiff"):
                return _read_tiff(path)
            raise
    except UnidentifiedImageError as error:
        raise BadFile(
            f"{path}: is not an image that can be read. Export it again as PNG."
        ) from error
    except (
        OSError,
        SyntaxError,
        ValueError,
        KeyError,
        IndexError,
        MemoryError,
        OverflowError,
        Image.DecompressionBombError,
    ) as error:
        raise BadFile(
            f"{path}: cannot be decoded ({error}). Copy or export the file again."
        ) from error


def check_size(path: Path) -> None:
    """Refuse a file that is missing, empty or larger than any single image, before it is opened.

    Raises:
        BadFile: names the file and the remedy.
    """
    try:
        size = os.stat(path).st_size  # noqa: PTH116 - Path.stat loops on a cyclic link in the same way
    except FileNotFoundError as error:
        raise BadFile(
            f"{path}: is missing. Restore the file or take its row out of the table."
        ) from error
    except OSError as error:
        raise BadFile(
            f"{path}: cannot be read ({error.strerror}). Check the link or its rights."
        ) from error
    if size == 0:
        raise BadFile(f"{path}: is empty (0 bytes). Copy the file again.")
    if size > LARGEST_BYTES:
        raise BadFile(
            f"{path}: has {size / 2**30:.1f} GiB, more than one image may have "
            f"({LARGEST_BYTES / 2**30:.0f} GiB). Cut it into tiles first."
        )


def decode_image(image: Image.Image) -> RawImage:
    """The pixels of an opened image."""
    mode = image.mode
    if mode in COLOUR_MODES:
        image = image.convert("RGB")
    elif mode in ("LA", "La"):
        image = image.convert("L")
    return stored(np.asarray(image), mode)


def stored(pixels: np.ndarray, mode: str) -> RawImage:
    """Decoded pixels, (H, W) or (H, W, 3), as a raw image.

    Raises:
        ValueError: no pixels, NaN, or a type that no image has.
    """
    if pixels.size == 0:
        raise ValueError("the image has no pixels")
    planes = np.ascontiguousarray(pixels.transpose(2, 0, 1)) if pixels.ndim == 3 else pixels
    if planes.dtype == np.bool_:
        return RawImage(planes.astype(np.float32), 1.0, mode)
    if planes.dtype.kind == "f":
        if not np.isfinite(planes).all():
            raise ValueError("the image holds NaN or infinite values")
        return RawImage(np.clip(planes, 0.0, 1.0).astype(np.float32), 1.0, mode)
    if planes.dtype == np.uint8:
        return RawImage(planes, 255.0, mode)
    # Pillow opens 16-bit PNG as 32-bit integers, whose own range would make every image black.
    return RawImage(np.clip(planes, 0, 65_535).astype(np.uint16), 65_535.0, mode)


def _tiff_bits(image: Image.Image) -> tuple[int, ...]:
    """Bits of each sample of a TIFF; (8,) for anything else."""
    tags = getattr(image, "tag_v2", {})
    return tuple(tags.get(TIFF_BITS_PER_SAMPLE, (8,)))


def _read_tiff(path: Path) -> RawImage:
    """TIFF that Pillow does not know, such as 16-bit RGB: the first page, by tifffile."""
    import tifffile

    try:
        with tifffile.TiffFile(path) as file:
            page = file.pages[0]
            if np.prod(page.shape) > 4 * LARGEST_PIXELS:
                raise ValueError(f"the header claims {page.shape} pixels")
            pixels = page.asarray()
    except (tifffile.TiffFileError, RuntimeError, ImportError) as error:
        raise ValueError(str(error)) from error
    if pixels.ndim == 3 and pixels.shape[0] in (3, 4) and pixels.shape[2] not in (3, 4):
        pixels = pixels.transpose(1, 2, 0)  # planes stored one after the other
    if pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3, 4)):
        raise ValueError(f"the page has shape {pixels.shape}, which is no 2D image")
    if pixels.ndim == 3:
        pixels = pixels[..., 0] if pixels.shape[2] == 1 else pixels[..., :3]
    return stored(pixels, f"TIFF {pixels.dtype}")
