"""PNG, TIFF and BMP masks of 1 to 32 bits; a TIFF of several pages is a volume.

Axes: H W pixels, D pages.
"""

from pathlib import Path

import numpy as np

from medfed.errors import BadFile
from medfed.evaluation.mask_files.mask import Mask, ReadOptions, mask_of

__all__ = ["read_raster"]

MANY_VALUES = 32  # more grey levels than this in 8 bits look like a photograph or soft edges


def read_raster(path: Path, options: ReadOptions, size: tuple[int, int] | None = None) -> Mask:
    """Read a picture of labels. A resolution in dots per inch is no spacing and is not read.

    Args:
        path: a .png, .tif, .tiff or .bmp file.
        options: threshold for probability maps.
        size: not used.

    Raises:
        BadFile: damaged, or colours instead of labels.
    """
    from PIL import Image

    notes: list[str] = []
    with Image.open(path) as picture:
        pages = getattr(picture, "n_frames", 1)
        if picture.mode in ("RGB", "RGBA", "LA", "CMYK", "YCbCr", "LAB", "HSV", "PA", "La", "RGBX"):
            raise BadFile(_advice(path.name, picture))
        if picture.mode == "P":
            notes.append("palette picture: palette positions are the labels")
        plain = picture.mode in ("1", "L", "P") or picture.mode.startswith("I;16")
        array = np.asarray(picture) if pages == 1 and (plain or picture.format != "TIFF") else None
    if array is None:
        array = _tiff(path)
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[-1] in (3, 4) and pages == 1):
        raise BadFile(
            f"{path.name}: shape {array.shape} is no grey picture; save one label a pixel."
        )
    if options.threshold is None and array.dtype == np.uint8 and array.size:
        levels = int(np.count_nonzero(np.bincount(array.ravel(), minlength=256)))
        if levels > MANY_VALUES and array.max() > 250:
            notes.append(f"{levels} grey values up to {array.max()}: an image or soft edges?")
    return Mask(mask_of(array, path.name, options), notes=tuple(notes))


def _tiff(path: Path) -> np.ndarray:
    import tifffile

    return np.asarray(tifffile.imread(path))


def _advice(name: str, picture: object) -> str:
    bands = np.asarray(picture)
    colours = bands[..., :3] if bands.ndim == 3 and bands.shape[-1] >= 3 else bands[..., :1]
    grey = bool((colours == colours[..., :1]).all())
    if grey:
        return (
            f"{name}: a colour picture whose channels are equal. Save one channel: "
            "Image.open(f).convert('L').save(f)."
        )
    count = len(np.unique(colours.reshape(-1, colours.shape[-1]), axis=0))
    return (
        f"{name}: a colour picture with {count} colours, and nothing says which label a colour is. "
        "Map each colour to a whole number and save one channel."
    )
