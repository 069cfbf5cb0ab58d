"""A folder with one binary mask an object, as in the Data Science Bowl of 2018, as one instance map."""

from pathlib import Path

import numpy as np

from medfed.errors import BadFile
from medfed.evaluation.mask_files.mask import Mask, ReadOptions

__all__ = ["read_object_folder"]


def read_object_folder(path: Path, options: ReadOptions) -> Mask:
    """Read every mask of a folder; objects are numbered from 1 in the order of their names.

    Where two objects share pixels, the later keeps them, and a note counts them.

    Raises:
        BadFile: no mask in the folder, one that is damaged, or several shapes.
    """
    from medfed.evaluation.mask_files.reading import mask_suffix, read_mask

    files = sorted(p for p in path.iterdir() if p.is_file() and mask_suffix(p.name))
    if not files:
        raise BadFile(f"{path}: holds no mask files.")
    whole: np.ndarray | None = None
    shared = 0
    for number, file in enumerate(files, start=1):
        inside = read_mask(file, options).array != 0
        if whole is None:
            whole = np.zeros(inside.shape, np.uint16 if len(files) < 2**16 else np.uint32)
        if inside.shape != whole.shape:
            raise BadFile(f"{path.name}/{file.name}: {inside.shape}, others are {whole.shape}.")
        shared += int(np.count_nonzero(whole[inside]))
        whole[inside] = number
    note = (f"{shared} pixels belong to several objects; the last keeps them",) if shared else ()
    assert whole is not None  # noqa: S101 - there is at least one file
    return Mask(whole, notes=note)
