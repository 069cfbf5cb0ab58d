"""DICOM segmentations: binary, fractional and label map, as volumes or as whole slides.

Axes: X Y Z voxels (column, row, slice) where the file says how it lies; H W pixels otherwise.
Clauses are those of DICOM PS3.3.
"""

from pathlib import Path
from typing import Any

import numpy as np

from medfed.errors import BadFile, DependencyMissing
from medfed.evaluation.mask_files.dicom_frames import Frames, frames_of, placed_in_space, tiled
from medfed.evaluation.mask_files.mask import Mask, ReadOptions

__all__ = ["read_dicom_seg"]

SEGMENTATION = ("1.2.840.10008.5.1.4.1.1.66.4", "1.2.840.10008.5.1.4.1.1.66.7")
HALF = 0.5


def read_dicom_seg(path: Path, options: ReadOptions, size: tuple[int, int] | None = None) -> Mask:
    """Read the segments as labels, or one segment as a mask.

    A fractional segment is foreground from half its maximum on, or from options.threshold.

    Args:
        path: a .dcm file.
        options: segment, threshold.
        size: not used.

    Raises:
        BadFile: another DICOM object, damaged, segments that overlap, or slices at uneven distances.
        DependencyMissing: pydicom is not installed.

    Source: C.8.20 Segmentation, C.7.6.16 Multi-frame Functional Groups.
    """
    try:
        from pydicom import dcmread
    except ModuleNotFoundError:
        raise DependencyMissing(
            f'{path.name}: DICOM needs pydicom: pip install "medfed[dicom]".'
        ) from None
    dataset = dcmread(path)
    if dataset.get("SOPClassUID") not in SEGMENTATION:
        raise BadFile(f"{path.name}: {dataset.get('Modality', 'no')} object, not a DICOM-SEG.")
    notes: list[str] = []
    pixels = np.asarray(dataset.pixel_array)
    pixels = pixels.reshape(-1, *pixels.shape[-2:])
    frames = frames_of(dataset, pixels, path.name)
    labels = _labels(dataset, frames, path.name, options, notes)
    if dataset.get("TotalPixelMatrixRows"):
        array, spacing = tiled(dataset, labels, frames, path.name)
        return Mask(array, spacing, notes=tuple(notes))
    return placed_in_space(dataset, labels, frames, path.name, notes)


def _labels(
    dataset: Any,  # noqa: ANN401
    frames: Frames,
    name: str,
    options: ReadOptions,
    notes: list[str],
) -> np.ndarray:
    """(F, rows, columns) labels of each frame: its segment's number, or the label map's own."""
    kind = str(dataset.get("SegmentationType", ""))
    numbers = [int(item.SegmentNumber) for item in dataset.SegmentSequence]
    if options.segment is not None and options.segment not in numbers:
        raise BadFile(f"{name}: has no segment {options.segment} (it has {numbers}).")
    if kind == "LABELMAP":
        if options.segment is not None:
            return np.asarray(frames.pixels == options.segment)
        return frames.pixels
    if kind not in ("BINARY", "FRACTIONAL"):
        raise BadFile(f"{name}: segmentation type {kind!r} is unknown.")
    inside = frames.pixels != 0
    if kind == "FRACTIONAL":
        cut = HALF if options.threshold is None else options.threshold
        inside = frames.pixels >= cut * float(dataset.MaximumFractionalValue)
        notes.append(f"fractional segments are foreground from {cut:g} of their maximum on")
    if options.segment is not None:
        wanted = frames.segments == options.segment
        return np.asarray(inside & wanted[:, None, None])
    widest = np.uint8 if max(numbers) < 256 else np.uint16
    return np.asarray(inside * frames.segments[:, None, None].astype(widest))
