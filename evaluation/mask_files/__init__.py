"""Mask files: a path in, a mask with its geometry out. One module a format.

A file that cannot be read as a mask is refused with BadFile and advice; nothing is guessed. The
libraries that read a format are imported when the first such file is met.
"""

from medfed.evaluation.mask_files.mask import Mask, ReadOptions
from medfed.evaluation.mask_files.reading import SUFFIXES, content_digest, mask_suffix, read_mask

__all__ = ["SUFFIXES", "Mask", "ReadOptions", "content_digest", "mask_suffix", "read_mask"]
