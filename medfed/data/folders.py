"""The files below a folder, whatever links and hidden files a hospital's disk holds."""

import os
from collections.abc import Collection
from pathlib import Path

from medfed.errors import DataError

__all__ = ["IMAGE_SUFFIXES", "files_below"]

IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".dcm", ".dicom"})


def files_below(root: Path, suffixes: Collection[str]) -> list[Path]:
    """Files with one of these suffixes (lower case; "" for none), sorted by path below `root`.

    Linked folders are followed, each real folder once, so a loop of links ends. Hidden files are left
    out: macOS puts a "._name" beside each file it copies.

    Raises:
        DataError: a folder below cannot be listed; names it.
    """
    found: list[Path] = []
    seen: set[tuple[int, int]] = set()
    for folder, folders, names in os.walk(root, followlinks=True, onerror=_refuse):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and _new(Path(folder, name), seen)
        )
        found += [
            Path(folder, name)
            for name in names
            if not name.startswith(".") and Path(name).suffix.lower() in suffixes
        ]
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


def _new(folder: Path, seen: set[tuple[int, int]]) -> bool:
    try:
        status = folder.stat()
    except OSError:
        return False  # a link to nowhere, or to itself
    key = (status.st_dev, status.st_ino)
    fresh = key not in seen
    seen.add(key)
    return fresh


def _refuse(error: OSError) -> None:
    raise DataError(
        f"{error.filename}: cannot be listed ({error.strerror}). Change its rights.",
        upstream="a dataset folder cannot be read",
    ) from error
