"""NRRD and MetaImage through SimpleITK.

Axes: X Y Z voxels. ITK's left and posterior become right and anterior, as in NIfTI.
"""

from pathlib import Path

import numpy as np

from medfed.errors import BadFile, DependencyMissing
from medfed.evaluation.mask_files.mask import Mask, ReadOptions, mask_of

__all__ = ["read_itk"]

TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])


def read_itk(path: Path, options: ReadOptions, size: tuple[int, int] | None = None) -> Mask:
    """Read a label map with its affine.

    Args:
        path: a .nrrd, .nhdr, .mha or .mhd file.
        options: threshold for probability maps.
        size: not used.

    Raises:
        BadFile: damaged, with several components a voxel, or more than three axes.
        DependencyMissing: SimpleITK is not installed.
    """
    try:
        import SimpleITK as Sitk
    except ModuleNotFoundError:
        raise DependencyMissing(
            f"{path.name}: {path.suffix} needs SimpleITK: pip install SimpleITK."
        ) from None
    Sitk.ProcessObject.SetGlobalWarningDisplay(False)
    image = Sitk.ReadImage(str(path))
    if image.GetNumberOfComponentsPerPixel() != 1:
        raise BadFile(f"{path.name}: several values a voxel (colour or vectors) are no labels.")
    if image.GetDimension() not in (2, 3):
        raise BadFile(f"{path.name}: {image.GetDimension()} axes; save one 2D or 3D map a file.")
    array = Sitk.GetArrayFromImage(image).transpose()
    n = array.ndim
    spacing = tuple(float(edge) for edge in image.GetSpacing())
    affine = np.eye(4)
    affine[:n, :n] = np.reshape(image.GetDirection(), (n, n)) * spacing
    affine[:n, 3] = image.GetOrigin()
    return Mask(mask_of(array, path.name, options), spacing, TO_RAS @ affine)
