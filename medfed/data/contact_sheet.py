"""A contact sheet: small pictures of a dataset on one PNG, for the eyes of the site's engineer.

Axes: C channels, H rows, W columns.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from medfed.transforms.instances import CONTOUR, ternary_map

__all__ = ["THUMBNAIL", "masked_thumbnail", "thumbnail", "write_sheet"]

THUMBNAIL = 128  # pixels
COLUMNS = 8
CAPTION = 14  # pixels of height
COLOURS = np.array([(255, 80, 60), (80, 220, 90), (90, 150, 255), (250, 220, 70)], np.uint8)


def thumbnail(image: np.ndarray) -> np.ndarray:
    """(C, H, W) in [0, 1] to (THUMBNAIL, THUMBNAIL, 3) uint8, padded with grey to keep its shape."""
    planes = np.repeat(image[:1], 3, axis=0) if len(image) != 3 else image
    pixels = (np.clip(planes, 0, 1) * 255).astype(np.uint8).transpose(1, 2, 0)
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    picture.thumbnail((THUMBNAIL, THUMBNAIL))
    square = Image.new("RGB", (THUMBNAIL, THUMBNAIL), (40, 40, 40))
    square.paste(picture, ((THUMBNAIL - picture.width) // 2, (THUMBNAIL - picture.height) // 2))
    return np.asarray(square)


def masked_thumbnail(image: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    """An image with its regions or instances outlined; of a volume, the slice with the most of them.

    Args:
        image: (C, H, W) or (C, X, Y, Z), any range.
        mask: (R, ...) of 0 and 1, or (...) instance numbers.
    """
    regions = mask is not None and mask.ndim == image.ndim
    if image.ndim == 4:
        covered = (
            mask.reshape(-1, *mask.shape[-3:]).sum(axis=(0, 1, 2))
            if mask is not None
            else np.zeros(image.shape[-1])
        )
        z = int(covered.argmax())
        image = image[..., z]
        mask = mask[..., z] if mask is not None else None
    low, high = np.percentile(image, [0.5, 99.5])
    unit = np.clip((image - low) / max(float(high - low), 1e-6), 0, 1)
    planes = unit if len(unit) == 3 else np.repeat(unit[:1], 3, axis=0)
    pixels = (planes * 255).astype(np.uint8)
    for number, layer in enumerate(
        mask if regions and mask is not None else [mask] if mask is not None else []
    ):
        edge = ternary_map(layer.astype(np.int32)) == CONTOUR
        pixels[:, edge] = COLOURS[number % len(COLOURS)][:, None]
    return thumbnail(pixels / 255)


def write_sheet(path: Path, pictures: Sequence[tuple[str, np.ndarray]]) -> None:
    """Pictures with a caption below each, row by row, as one PNG.

    Raises:
        OSError: the file cannot be written.
    """
    rows = -(-len(pictures) // COLUMNS)
    columns = min(len(pictures), COLUMNS)
    sheet = Image.new("RGB", (columns * THUMBNAIL, rows * (THUMBNAIL + CAPTION)), (20, 20, 20))
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=10)
    for number, (caption, picture) in enumerate(pictures):
        left, top = number % COLUMNS * THUMBNAIL, number // COLUMNS * (THUMBNAIL + CAPTION)
        sheet.paste(Image.fromarray(picture), (left, top))
        draw.text((left + 2, top + THUMBNAIL), caption[-22:], fill=(230, 230, 230), font=font)
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path)
