"""Small masks on disk in every format, and the shared data where MEDFED_DATA names it."""

import os
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from PIL import Image


@pytest.fixture(scope="session")
def data():
    folder = os.environ.get("MEDFED_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("MEDFED_DATA does not name the shared data folder")
    return Path(folder)


@pytest.fixture
def labels():
    """A label map with two labels, no symmetry, (7, 6, 5)."""
    array = np.zeros((7, 6, 5), np.uint8)
    array[1:5, 2:5, 1:3] = 1
    array[2, 3, 2:4] = 2
    array[5, 0, 0] = 2
    return array


def save_nifti(path, array, affine=None, **header):
    image = nib.Nifti1Image(np.asarray(array), np.eye(4) if affine is None else affine)
    for name, value in header.items():
        image.header[name] = value
    nib.save(image, path)
    return path


def save_png(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(array)).save(path)
    return path


def square(start, size=32, side=10):
    mask = np.zeros((size, size), np.uint8)
    mask[start : start + side, 5 : 5 + side] = 1
    return mask
