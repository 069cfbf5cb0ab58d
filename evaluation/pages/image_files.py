"""Images to draw contours on: pictures and NIfTI volumes, as grey or colour between 0 and 1.

Axes: X Y Z voxels, H W pixels, C colours.
"""

from pathlib import Path
from typing import Any

import numpy as np

from medfed.errors import BadFile

__all__ = ["read_image"]

WINDOW = (0.5, 99.5)  # percentiles that become black and white


def read_image(path: Path) -> np.ndarray:
    """Read an image.

    Returns:
        (X, Y, Z) or (H, W) or (H, W, C) float32 in [0, 1].

    Raises:
        BadFile: it cannot be read.
    """
    try:
        if path.name.lower().endswith((".nii", ".nii.gz")):
            import nibabel as nib

            volume: Any = nib.load(path)
            values = np.asarray(volume.dataobj, np.float32).squeeze()
        elif path.suffix.lower() == ".npy":
            values = np.load(path, allow_pickle=False).astype(np.float32)
        else:
            return _picture(path)
    except Exception as error:
        # Only an illustration: whatever is wrong with it, the page is written without it.
        raise BadFile(f"{path.name}: cannot be read as an image ({error}).") from error
    return _windowed(values)


def _picture(path: Path) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as picture:
        if picture.mode in ("RGB", "RGBA", "P", "LA", "CMYK"):
            return np.asarray(picture.convert("RGB"), np.float32) / 255
        return _windowed(np.asarray(picture, np.float32))


def _windowed(values: np.ndarray) -> np.ndarray:
    filled = values[np.isfinite(values) & (values != 0)]
    low, high = np.percentile(filled, WINDOW) if filled.size else (0.0, 1.0)
    scaled = (np.nan_to_num(values) - min(low, 0.0)) / max(high - min(low, 0.0), 1e-6)
    return np.asarray(np.clip(scaled, 0, 1), np.float32)
