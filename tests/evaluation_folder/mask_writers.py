"""Masks written to disk for the tests beside this file."""

import nibabel as nib
import numpy as np
from PIL import Image


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
