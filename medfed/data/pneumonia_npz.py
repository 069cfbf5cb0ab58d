"""PneumoniaMNIST in MedMNIST's .npz layout: SPLIT_images and SPLIT_labels."""

import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from medfed.data.cases import UNKNOWN, ArrayPixels, Cases
from medfed.data.one_hot import one_hot
from medfed.data.vocabulary import Vocabulary
from medfed.errors import BadFile
from medfed.job import StrictModel

__all__ = ["NEEDS_ROOT", "Options", "open_dataset"]

NEEDS_ROOT = True
DEFAULT_TASK = "pneumonia2"
FINDING = "Pneumonia"


class Options(StrictModel):
    """Which file and part of the folder."""

    file: str = Field("pneumoniamnist.npz")
    split: Literal["train", "val", "test"] = "train"


def open_dataset(root: Path, options: Options, vocabulary: Vocabulary) -> Cases:
    """All images of a part; a case's name and its patient are its position.

    In a multi-label vocabulary only pneumonia is annotated, all other classes are unknown.

    Raises:
        BadFile: the file is missing, damaged, or lacks an array.
    """
    path = root / options.file
    try:
        with np.load(path, allow_pickle=False) as file:
            images = file[f"{options.split}_images"]
            numbers = file[f"{options.split}_labels"].reshape(-1).astype(np.int64)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise BadFile(f"{path}: cannot be read as a MedMNIST file ({error}).") from error
    classes = len(vocabulary.classes)
    if vocabulary.kind == "single_label":
        labels = one_hot(numbers, classes, str(path))
    else:
        labels = np.full((len(images), classes), UNKNOWN, np.int8)
        column = vocabulary.columns("pneumonia_npz").get(FINDING)
        if column is not None:
            labels[:, column] = numbers
    names = tuple(str(i) for i in range(len(images)))
    return Cases(names, names, labels, ArrayPixels(images), np.arange(len(images)))
