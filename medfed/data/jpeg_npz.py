"""JPEG images packed in one .npz file: arrays jpeg, offset and label."""

import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image
from pydantic import Field

from medfed.data.cases import Cases
from medfed.data.one_hot import one_hot
from medfed.data.vocabulary import Vocabulary
from medfed.errors import BadFile
from medfed.job import StrictModel
from medfed.transforms.images import RawImage, decode_image

__all__ = ["NEEDS_ROOT", "Options", "open_dataset"]

NEEDS_ROOT = True
DEFAULT_TASK = "cifar10"


class Options(StrictModel):
    """Which file of the folder."""

    file: str = Field("cifar10_train_jpeg.npz")


class _Packed:
    def __init__(self, path: Path, jpeg: np.ndarray, offset: np.ndarray) -> None:
        self._path, self._jpeg, self._offset = path, jpeg, offset

    def _bytes(self, index: int) -> bytes:
        return self._jpeg[self._offset[index] : self._offset[index + 1]].tobytes()

    def raw(self, index: int) -> RawImage:
        try:
            with Image.open(io.BytesIO(self._bytes(index))) as image:
                return decode_image(image)
        except (OSError, SyntaxError, ValueError) as error:
            raise BadFile(f"{self._path}: image {index} cannot be decoded ({error}).") from error

    def digest(self, index: int) -> bytes:
        return hashlib.sha256(self._bytes(index)).digest()


def open_dataset(root: Path, options: Options, vocabulary: Vocabulary) -> Cases:
    """All images; a case's name and its patient are its position.

    Raises:
        BadFile: the file is missing, damaged, or lacks an array.
    """
    path = root / options.file
    try:
        with np.load(path, allow_pickle=False) as file:
            jpeg, offset, label = file["jpeg"], file["offset"], file["label"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise BadFile(f"{path}: cannot be read as packed JPEG images ({error}).") from error
    names = tuple(str(i) for i in range(len(label)))
    labels = one_hot(label, len(vocabulary.classes), str(path))
    return Cases(names, names, labels, _Packed(path, jpeg, offset), np.arange(len(label)))
