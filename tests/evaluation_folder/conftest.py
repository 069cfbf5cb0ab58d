"""Small masks on disk in every format, and the shared data where MEDFED_DATA names it."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # mask_writers.py is shared by the tests beside it


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


def square(start, size=32, side=10):
    mask = np.zeros((size, size), np.uint8)
    mask[start : start + side, 5 : 5 + side] = 1
    return mask
