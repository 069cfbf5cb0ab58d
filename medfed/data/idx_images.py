"""MNIST-style IDX files: images and labels, gzipped or not."""

import gzip
import zlib
from pathlib import Path

import numpy as np
from pydantic import Field

from medfed.data.cases import ArrayPixels, Cases
from medfed.data.one_hot import one_hot
from medfed.data.vocabulary import Vocabulary
from medfed.errors import BadFile, DataError
from medfed.job import StrictModel

__all__ = ["NEEDS_ROOT", "Options", "open_dataset"]

NEEDS_ROOT = True
DEFAULT_TASK = "digits10"
UNSIGNED_BYTE = 0x08


class Options(StrictModel):
    """Which files of the folder."""

    images: str = Field("train-images-idx3-ubyte", description="file name, with or without .gz")
    labels: str = Field(
        "train-labels-idx1-ubyte", description='file name; "" for images without labels'
    )


def open_dataset(root: Path, options: Options, vocabulary: Vocabulary) -> Cases:
    """All images; a case's name and its patient are its position.

    Raises:
        BadFile: a file is missing, truncated or no IDX file.
        DataError: images and labels differ in number.
    """
    images = _read(_find(root, options.images), dimensions=3)
    classes = len(vocabulary.classes)
    if options.labels:
        path = _find(root, options.labels)
        numbers = _read(path, dimensions=1)
        if len(numbers) != len(images):
            raise DataError(f"{path}: {len(numbers)} labels for {len(images)} images.")
        labels = one_hot(numbers, classes, str(path))
    else:
        labels = np.full((len(images), classes), -1, np.int8)
    names = tuple(str(i) for i in range(len(images)))
    return Cases(names, names, labels, ArrayPixels(images), np.arange(len(images)))


def _find(root: Path, name: str) -> Path:
    for candidate in (root / name, root / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise BadFile(f"{root / name}: is missing, with and without .gz.")


def _read(path: Path, *, dimensions: int) -> np.ndarray:
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise BadFile(f"{path}: cannot be decompressed ({error}). Copy the file again.") from error
    if (
        len(data) < 4 + 4 * dimensions
        or data[:3] != bytes([0, 0, UNSIGNED_BYTE])
        or data[3] != dimensions
    ):
        raise BadFile(f"{path}: is no IDX file of {dimensions}-dimensional unsigned bytes.")
    shape = np.frombuffer(data, ">u4", dimensions, offset=4).astype(np.int64)
    if len(data) != 4 + 4 * dimensions + shape.prod():
        raise BadFile(
            f"{path}: is truncated; its header promises {shape.tolist()}. Copy the file again."
        )
    return np.frombuffer(data, np.uint8, offset=4 + 4 * dimensions).reshape(shape)
