"""Transforms: files in, arrays ready for a network out."""

from medfed.transforms.images import read_image
from medfed.transforms.pipeline import ImagePipeline

__all__ = ["ImagePipeline", "read_image"]
