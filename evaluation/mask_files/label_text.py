"""Text masks of the CPM challenges: `width height`, then one label a line, row by row."""

from pathlib import Path

import numpy as np

from medfed.errors import BadFile
from medfed.evaluation.mask_files.mask import Mask, ReadOptions, mask_of

__all__ = ["read_label_text"]


def read_label_text(path: Path, options: ReadOptions, size: tuple[int, int] | None = None) -> Mask:
    """Read an instance map.

    Args:
        path: a .txt file.
        options: threshold for probability maps.
        size: not used.

    Raises:
        BadFile: other text, or more or fewer labels than width times height.
    """
    text = path.read_bytes()
    first, _, rest = text.partition(b"\n")
    words = first.split()
    if len(words) != 2 or not all(word.isdigit() for word in words):
        raise BadFile(f"{path.name}: the first line is not 'width height', so it is no text mask.")
    width, height = int(words[0]), int(words[1])
    labels = np.array(rest.split(), dtype=np.int64)
    if labels.size != width * height:
        raise BadFile(
            f"{path.name}: {labels.size} labels for {width} x {height} pixels; cut off, or another file."
        )
    return Mask(mask_of(labels.reshape(height, width), path.name, options))
