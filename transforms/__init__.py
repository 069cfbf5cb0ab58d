"""Transforms: files in, arrays ready for a network out.

`medfed.transforms.dictionary` holds the MONAI dictionary transforms; only it imports MONAI.
"""

from medfed.transforms.images import RawImage, read_image
from medfed.transforms.pipeline import ImagePipeline

__all__ = ["ImagePipeline", "RawImage", "read_image"]
