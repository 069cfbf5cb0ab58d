"""Image files below one folder: one folder a class, or without labels."""

from pathlib import Path

import numpy as np
from pydantic import Field

from medfed.data.cases import UNKNOWN, Cases, FilePixels
from medfed.data.folders import IMAGE_SUFFIXES, files_below
from medfed.data.one_hot import one_hot
from medfed.data.vocabulary import Vocabulary
from medfed.errors import LabelNotMapped
from medfed.job import StrictModel

__all__ = ["NEEDS_ROOT", "Options", "open_dataset"]

NEEDS_ROOT = True


class Options(StrictModel):
    """What the folder means."""

    labelled: bool = Field(False, description="the first folder level names the class")
    folders: tuple[str, ...] = Field(
        ("*",), strict=False, description="patterns of folders below root to take"
    )


def open_dataset(root: Path, options: Options, vocabulary: Vocabulary) -> Cases:
    """Every image file, sorted by its path below root; each is its own patient.

    Raises:
        LabelNotMapped: a class folder that the vocabulary does not know.
    """
    found = {
        path
        for path in root.iterdir()
        if path.suffix.lower() in IMAGE_SUFFIXES and path.name[0] != "."
    }
    for pattern in options.folders:
        for folder in (path for path in root.glob(pattern) if path.is_dir()):
            found |= set(files_below(folder, IMAGE_SUFFIXES))
    paths = sorted(found)
    names = tuple(path.relative_to(root).as_posix() for path in paths)
    labels = np.full((len(paths), len(vocabulary.classes)), UNKNOWN, np.int8)
    if options.labelled:
        numbers = np.array([_number(name, vocabulary, root) for name in names], np.int64)
        labels = one_hot(numbers, len(vocabulary.classes), str(root))
    return Cases(names, names, labels, FilePixels(paths), np.arange(len(paths)))


def _number(name: str, vocabulary: Vocabulary, root: Path) -> int:
    folder = name.split("/", 1)[0]
    if folder not in vocabulary.classes:
        raise LabelNotMapped(
            f"{root / name}: {folder!r} is no class of the job (known: {list(vocabulary.classes)})."
        )
    return vocabulary.classes.index(folder)
