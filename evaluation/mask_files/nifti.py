"""NIfTI-1 and NIfTI-2 single files, plain or gzipped.

The header is nibabel's work. The voxels are inflated once, no further than the header says, and the
gzip checksum is compared, which a damaged file fails.

Axes: X Y Z voxels, as nibabel numbers them.
"""

import zlib
from pathlib import Path
from typing import Any

import numpy as np

from medfed.errors import BadFile
from medfed.evaluation.mask_files.mask import Mask, ReadOptions, mask_of, spacing_of

__all__ = ["read_nifti"]

LARGEST = 1 << 36  # bytes of voxels; a header that claims more is damaged
HEADER_BYTES = 540  # of NIfTI-2; NIfTI-1 has 348
SKEW = 1e-3  # cosine between axes above which a voxel is no box
CHUNK = 1 << 22  # bytes inflated at a time
STRONGEST = 1032  # deflate cannot shrink further
UNITS_MM = {"mm": 1.0, "meter": 1e3, "micron": 1e-3}


def read_nifti(path: Path, options: ReadOptions, size: tuple[int, int] | None = None) -> Mask:
    """Read a label map with its affine.

    Args:
        path: a .nii or .nii.gz file.
        options: threshold for probability maps.
        size: not used.

    Raises:
        BadFile: damaged header or voxels, colours, complex numbers, or more than three axes.
    """
    stored = path.read_bytes()
    zipped = stored[:2] == b"\x1f\x8b"
    header = _header(
        _inflated(stored, HEADER_BYTES) if zipped else stored[:HEADER_BYTES], path.name
    )
    shape, dtype = _layout(header, path.name)
    start = int(header.get_data_offset()) or int(header["sizeof_hdr"]) + 4
    end = start + int(np.prod(shape, dtype=object)) * dtype.itemsize
    if end > LARGEST:
        raise BadFile(f"{path.name}: the header claims {end} bytes of voxels; it is damaged.")
    data = _inflated(stored, end) if zipped else stored
    if len(data) < end:
        raise BadFile(
            f"{path.name}: cut off: {max(len(data) - start, 0)} of {end - start} bytes of voxels."
        )
    count = int(np.prod(shape))
    raw = np.frombuffer(data, dtype, count, start).reshape(shape, order="F")
    notes: list[str] = []
    array = mask_of(_scaled(raw, header, notes), path.name, options)
    affine, spacing = _geometry(header, array.ndim, path.name, notes)
    return Mask(array, spacing, affine, notes=tuple(notes))


def _inflated(stored: bytes, limit: int) -> bytearray:
    """The first `limit` bytes, or fewer where the file ends; the checksum is compared on the way."""
    if limit > STRONGEST * len(stored) + HEADER_BYTES:
        return bytearray()
    data, filled = bytearray(limit), 0
    while stored and filled < limit:
        stream = zlib.decompressobj(31)
        rest = stored
        while filled < limit and not stream.eof:
            part = stream.decompress(rest, min(CHUNK, limit - filled))
            data[filled : filled + len(part)] = part
            filled += len(part)
            rest = stream.unconsumed_tail
            if not part and not rest:
                break
        if not stream.eof:
            # One byte more reaches the checksum, unless more than voxels follows.
            more = limit > HEADER_BYTES and stream.decompress(rest, 1)
            if limit > HEADER_BYTES and not more and not stream.eof:
                raise zlib.error("the file ends before its checksum")
            break
        stored = stream.unused_data
    return data if filled == limit else data[:filled]


def _header(block: bytes | bytearray, name: str) -> Any:  # noqa: ANN401
    import logging

    from nibabel.nifti1 import Nifti1Header
    from nibabel.nifti2 import Nifti2Header

    logging.getLogger("nibabel.global").setLevel(logging.CRITICAL)  # its findings are raised below
    for kind, length in ((Nifti1Header, 348), (Nifti2Header, 540)):
        if block[:4] in (length.to_bytes(4, "little"), length.to_bytes(4, "big")):
            if len(block) < length:
                raise BadFile(f"{name}: cut off inside the header.")
            header: Any = kind
            return header(bytes(block[:length]))
    raise BadFile(f"{name}: is no NIfTI file: it starts with {bytes(block[:4])!r}.")


def _layout(header: Any, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:  # noqa: ANN401
    shape = tuple(int(n) for n in header.get_data_shape())
    if not shape or min(shape) < 1:
        raise BadFile(f"{name}: the header's shape {shape} is damaged.")
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    if len(shape) not in (2, 3):
        raise BadFile(
            f"{name}: shape {shape} has {len(shape)} axes; save one 2D or 3D label map a file."
        )
    dtype = header.get_data_dtype()
    if dtype.names or dtype.kind not in "iuf":
        raise BadFile(f"{name}: voxels of type {dtype} (colours or complex) are no labels.")
    return shape, dtype


def _scaled(raw: np.ndarray, header: Any, notes: list[str]) -> np.ndarray:  # noqa: ANN401
    slope, intercept = header.get_slope_inter()
    if slope is None or (slope, intercept) == (1, 0):
        return raw
    notes.append(f"stored values are scaled by {slope:.9g} and shifted by {intercept:.9g}")
    return np.asarray(raw * float(slope) + float(intercept))


def _geometry(
    header: Any,  # noqa: ANN401
    dimensions: int,
    name: str,
    notes: list[str],
) -> tuple[np.ndarray | None, tuple[float, ...]]:
    units = header.get_xyzt_units()[0]
    to_mm = UNITS_MM.get(units, 1.0)
    sform, qform = int(header["sform_code"]) > 0, int(header["qform_code"]) > 0
    if not (sform or qform):
        notes.append("the header names no orientation; only shape and spacing are compared")
        spacing = tuple(float(edge) * to_mm for edge in header.get_zooms()[:dimensions])
        return None, _positive(spacing, name)
    affine = header.get_sform() if sform else header.get_qform()
    if sform and qform and not np.allclose(affine, header.get_qform(), atol=1e-2):
        notes.append("sform and qform differ; sform is used")
    affine = np.diag([to_mm, to_mm, to_mm, 1.0]) @ np.asarray(affine, np.float64)
    if not np.isfinite(affine).all() or abs(np.linalg.det(affine[:3, :3])) < 1e-12:
        raise BadFile(f"{name}: the affine is singular or not finite:\n{affine}")
    edges = affine[:3, :3] / np.sqrt((affine[:3, :3] ** 2).sum(axis=0))
    if np.abs(edges.T @ edges - np.eye(3)).max() > SKEW:
        notes.append("the axes are not at right angles; distances are computed as if they were")
    return affine, _positive(spacing_of(affine, dimensions), name)


def _positive(spacing: tuple[float, ...], name: str) -> tuple[float, ...]:
    if not all(np.isfinite(edge) and edge > 0 for edge in spacing):
        raise BadFile(f"{name}: the spacing {spacing} mm is damaged.")
    return spacing
