"""NIfTI volumes and label maps, turned to RAS and back.

Axes: X left to right, Y back to front, Z foot to head (RAS) once read.
"""

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nibabel
import nibabel.orientations
import numpy as np
from nibabel.filebasedimages import ImageFileError

from medfed.errors import BadFile
from medfed.transforms.images import check_size

__all__ = [
    "GRID_TOLERANCE_VOXELS",
    "LABEL_TOLERANCE",
    "Volume",
    "check_same_grid",
    "read_labels",
    "read_volume",
]

LARGEST_VOXELS = 1 << 29  # 2 GiB as float32
LABEL_TOLERANCE = 1e-3  # scl_slope stores 1 as 0.99999997 in real files; 0.5 is no label
GRID_TOLERANCE_VOXELS = (
    0.05  # headers of one study differ by rounding; half a voxel is another grid
)
SHEAR_TOLERANCE = 1e-3  # cosine between two axes of the grid
GZIP = b"\x1f\x8b"
RAS = np.array([[0, 1], [1, 1], [2, 1]])
orientations: Any = nibabel.orientations  # nibabel has no types


@dataclass(frozen=True, slots=True, eq=False)
class Volume:
    """A volume on a RAS grid.

    Args:
        voxels: (X, Y, Z).
        affine: (4, 4), voxel position to millimetres.
        source: (3, 2), nibabel's orientation of the file: where each file axis went, and its sign.
        codes: the file's own orientation, such as "LPS".
    """

    voxels: np.ndarray
    affine: np.ndarray
    source: np.ndarray
    codes: str

    @property
    def spacing_mm(self) -> tuple[float, float, float]:
        """Edge of a voxel along X, Y, Z."""
        x, y, z = np.linalg.norm(self.affine[:3, :3], axis=0).tolist()
        return x, y, z

    def to_source(self, voxels: np.ndarray) -> np.ndarray:
        """An array on this RAS grid, in the axes of the file it came from."""
        return np.asarray(
            orientations.apply_orientation(voxels, orientations.ornt_transform(RAS, self.source))
        )


def read_volume(path: Path) -> Volume:
    """A 3D image as float32 in RAS, with scl_slope and scl_inter applied.

    Raises:
        BadFile: missing, truncated, not 3D, sheared, without a usable affine, or with NaN voxels.
    """
    stored, affine, slope, intercept = _load(path)
    voxels = np.asarray(stored, np.float32)
    if (slope, intercept) != (1.0, 0.0):
        voxels = voxels * np.float32(slope) + np.float32(intercept)
    if not np.isfinite(voxels.max(initial=0.0) - voxels.min(initial=0.0)):
        raise BadFile(f"{path}: holds NaN or infinite voxels. Set them to 0 and save it again.")
    return _in_ras(voxels, affine, path)


def read_labels(path: Path) -> Volume:
    """A 3D label map as int16 in RAS; values a rounding error away from a whole number are rounded.

    Raises:
        BadFile: as `read_volume`, or a value is no whole number.
    """
    volume = read_volume(path)
    whole = np.rint(volume.voxels)
    away = np.abs(volume.voxels - whole) > LABEL_TOLERANCE
    if away.any():
        raise BadFile(
            f"{path}: value {volume.voxels[away].flat[0]:g} is no label; labels are whole numbers. "
            "It may be a probability map, or have been resampled with interpolation."
        )
    if whole.min() < 0 or whole.max() > np.iinfo(np.int16).max:
        raise BadFile(
            f"{path}: labels reach from {whole.min():g} to {whole.max():g}; allowed are 0 to 32767."
        )
    return Volume(whole.astype(np.int16), volume.affine, volume.source, volume.codes)


def check_same_grid(image: Volume, other: Volume, *, names: tuple[object, object]) -> None:
    """Refuse two volumes whose voxels do not lie on one another.

    The corners of the grid may lie GRID_TOLERANCE_VOXELS of the smallest spacing apart.

    Raises:
        BadFile: names both files and the difference.
    """
    first, second = names
    if image.voxels.shape != other.voxels.shape:
        raise BadFile(
            f"{second}: has {other.voxels.shape} voxels in RAS, but {first} has {image.voxels.shape}. "
            "They belong to different images, or one was cropped."
        )
    corners = np.stack(np.meshgrid(*[(0, n - 1) for n in image.voxels.shape]), -1).reshape(-1, 3)
    homogeneous = np.column_stack([corners, np.ones(len(corners))])
    apart_mm = np.linalg.norm((homogeneous @ (image.affine - other.affine).T)[:, :3], axis=1).max()
    allowed_mm = GRID_TOLERANCE_VOXELS * min(image.spacing_mm)
    if apart_mm > allowed_mm:
        raise BadFile(
            f"{second}: lies up to {apart_mm:.3g} mm off {first}; {allowed_mm:.3g} mm are allowed. "
            "Resample the mask to the image, or copy the image's affine if only the header is wrong."
        )


def _load(path: Path) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Stored voxels, affine, slope and intercept."""
    check_size(path)
    try:
        if path.name.lower().endswith((".nii", ".nii.gz")):
            return _parse(path)
        image: Any = nibabel.load(path)
        _check_shape(image.shape, path)
        return np.asarray(image.dataobj), np.asarray(image.affine), 1.0, 0.0
    except BadFile:
        raise
    except (
        OSError,
        EOFError,
        zlib.error,
        ValueError,
        TypeError,
        OverflowError,
        MemoryError,
        ImageFileError,
        nibabel.spatialimages.HeaderDataError,
    ) as error:
        raise BadFile(
            f"{path}: cannot be read as NIfTI ({error}). Copy or convert the file again."
        ) from error


def _parse(path: Path) -> tuple[np.ndarray, np.ndarray, float, float]:
    """One pass over the file: no more is inflated than the header promises."""
    data = path.read_bytes()
    inflate = zlib.decompressobj(31) if data[:2] == GZIP else None
    head = inflate.decompress(data, 544) if inflate else data[:544]
    kind: dict[int, Any] = {348: nibabel.Nifti1Header, 540: nibabel.Nifti2Header}
    number = {int.from_bytes(head[:4], order) for order in ("little", "big")} & set(kind)
    if not number:
        raise ValueError("its first bytes are no NIfTI header")
    size = number.pop()
    header = kind[size](head[:size], check=False)
    shape = _check_shape(header.get_data_shape(), path)
    start, dtype = max(int(header.get_data_offset()), size), header.get_data_dtype()
    wanted = start + int(np.prod(shape)) * dtype.itemsize
    if inflate:
        data = head + inflate.decompress(inflate.unconsumed_tail, wanted - len(head))
        inflate.decompress(inflate.unconsumed_tail, 64)  # the checksum at the end
    if len(data) < wanted:
        raise ValueError(f"it ends after {len(data)} of {wanted} bytes")
    stored = np.frombuffer(data, dtype, int(np.prod(shape)), start).reshape(shape, order="F")
    slope, intercept = header.get_slope_inter()
    return stored, header.get_best_affine(), slope if slope is not None else 1.0, intercept or 0.0


def _check_shape(shape: tuple[int, ...], path: Path) -> tuple[int, ...]:
    three = tuple(shape[:3])
    if len(shape) < 3 or any(n != 1 for n in shape[3:]):
        raise BadFile(
            f"{path}: has shape {tuple(shape)}; medfed reads 3D volumes. Split a series into one file each."
        )
    if min(three) < 1 or np.prod(three, dtype=np.float64) > LARGEST_VOXELS:
        raise BadFile(f"{path}: its header claims {three} voxels. Convert it again, or crop it.")
    return three


def _in_ras(voxels: np.ndarray, affine: np.ndarray, path: Path) -> Volume:
    axes = np.asarray(affine, np.float64)[:3, :3]
    lengths = np.linalg.norm(axes, axis=0)
    if not np.isfinite(affine).all() or lengths.min() < 1e-6:
        raise BadFile(f"{path}: its affine has no usable axes. Convert it again from DICOM.")
    cosines = np.abs((axes / lengths).T @ (axes / lengths) - np.eye(3))
    if cosines.max() > SHEAR_TOLERANCE:
        raise BadFile(
            f"{path}: its axes are not at right angles (cosine {cosines.max():.3g}, allowed {SHEAR_TOLERANCE:g}). "
            "Resample it to an orthogonal grid first."
        )
    source = orientations.io_orientation(affine)
    turned = orientations.apply_orientation(voxels, source)
    ras = affine @ orientations.inv_ornt_aff(source, voxels.shape)
    return Volume(turned, ras, source, "".join(orientations.aff2axcodes(affine)))
