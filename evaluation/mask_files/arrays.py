"""NumPy and MATLAB arrays. Nothing pickled is ever opened.

Axes: as stored.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from medfed.errors import BadFile
from medfed.evaluation.mask_files.mask import Mask, ReadOptions, mask_of

__all__ = ["read_mat", "read_npy", "read_npz"]

# The names that hover_net, CoNSeP, PanNuke and common scripts use.
KNOWN_KEYS = ("inst_map", "instance_map", "mask", "masks", "label", "labels", "seg", "arr_0")


def read_npy(path: Path, options: ReadOptions, size: tuple[int, int] | None = None) -> Mask:
    """Read one array.

    Raises:
        BadFile: damaged, pickled, or no label map.
    """
    return _mask(_opened(path), path.name, options)


def read_npz(path: Path, options: ReadOptions, size: tuple[int, int] | None = None) -> Mask:
    """Read one array of an archive: the only one, the one named by options.key, or a known name.

    Raises:
        BadFile: damaged, pickled, no label map, or several arrays and no choice.
    """
    with _opened(path) as archive:
        return _mask(archive[_key(archive.files, path.name, options)], path.name, options)


def read_mat(path: Path, options: ReadOptions, size: tuple[int, int] | None = None) -> Mask:
    """Read one variable of a MATLAB file up to version 7; `inst_map` before others.

    Raises:
        BadFile: damaged, version 7.3, no label map, or several variables and no choice.
    """
    from scipy.io import loadmat

    with path.open("rb") as file:
        if b"MATLAB 7.3" in file.read(128):
            raise BadFile(
                f"{path.name}: MATLAB 7.3 files are HDF5; save it with save(..., '-v7') or as .npy."
            )
    variables: Mapping[str, Any] = {
        name: value for name, value in loadmat(path).items() if not name.startswith("__")
    }
    return _mask(variables[_key(list(variables), path.name, options)], path.name, options)


def _opened(path: Path) -> Any:  # noqa: ANN401
    try:
        return np.load(path, allow_pickle=False)
    except ValueError as error:
        if "pickle" not in str(error).lower():
            raise
        raise BadFile(
            f"{path.name}: holds Python objects, which are not opened as they can run code. Save the "
            "mask alone (for cellpose: np.save(f, dat['masks']))."
        ) from error


def _key(names: list[str], name: str, options: ReadOptions) -> str:
    if options.key is not None:
        if options.key not in names:
            raise BadFile(f"{name}: has no array {options.key!r} (it holds {', '.join(names)}).")
        return options.key
    if len(names) == 1:
        return names[0]
    known = [key for key in KNOWN_KEYS if key in names]
    if not known:
        raise BadFile(f"{name}: holds {', '.join(names) or 'nothing'}; choose one with --key.")
    return known[0]


def _mask(array: Any, name: str, options: ReadOptions) -> Mask:  # noqa: ANN401
    values = np.asarray(array)
    if values.ndim not in (2, 3):
        raise BadFile(f"{name}: an array of shape {values.shape} is no 2D or 3D mask.")
    if values.dtype.kind == "O":
        raise BadFile(f"{name}: holds objects instead of numbers; choose another array with --key.")
    return Mask(mask_of(values, name, options))
