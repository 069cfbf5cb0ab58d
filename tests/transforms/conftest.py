"""Small files of every kind, made by other libraries than the readers under test, and the real ones."""

import os
from pathlib import Path

import nibabel
import numpy as np
import pytest


@pytest.fixture(scope="session")
def real_data():
    folder = os.environ.get("MEDFED_DATA")
    if not folder:
        pytest.skip("MEDFED_DATA names no folder of real images")
    return Path(folder)


@pytest.fixture
def save_nifti(tmp_path):
    def save(voxels, affine=None, name="x.nii.gz", slope=None, intercept=0.0):
        image = nibabel.Nifti1Image(voxels, np.eye(4) if affine is None else affine)
        if slope is not None:
            image.header.set_slope_inter(slope, intercept)
        path = tmp_path / name
        nibabel.save(image, path)
        return path

    return save
