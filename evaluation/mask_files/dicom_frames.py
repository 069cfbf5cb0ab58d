"""Where the frames of a DICOM multi-frame object lie, and the array they make together.

Axes: F frames, X Y Z voxels (column, row, slice), H W pixels of a whole slide.
Clauses are those of DICOM PS3.3.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from medfed.errors import BadFile
from medfed.evaluation.mask_files.mask import Mask

__all__ = ["Frames", "frames_of", "placed_in_space", "tiled"]

TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])
UNEVEN = 0.05  # of a slice distance: written positions are rounded to a few digits
LARGEST = 1 << 34  # voxels of the assembled array


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames of one object.

    Attributes:
        pixels: (F, rows, columns) as stored.
        segments: (F,) segment number of each frame; ones for label maps.
        groups: (F,) each frame's own functional groups, or None.
    """

    pixels: np.ndarray
    segments: np.ndarray
    groups: list[Any]

    def group(self, dataset: Any, keyword: str, frame: int) -> Any:  # noqa: ANN401
        """The functional group of a frame, its own before the shared one; None without either."""
        own = self.groups[frame]
        shared = dataset.get("SharedFunctionalGroupsSequence") or [None]
        for holder in (own, shared[0]):
            sequence = holder.get(keyword) if holder is not None else None
            if sequence:
                return sequence[0]
        return None


def frames_of(dataset: Any, pixels: np.ndarray, name: str) -> Frames:  # noqa: ANN401
    """Pair each frame with its functional groups and its segment.

    Raises:
        BadFile: the numbers of frames and groups differ.
    """
    own = list(dataset.get("PerFrameFunctionalGroupsSequence") or [])
    if own and len(own) != len(pixels):
        raise BadFile(f"{name}: {len(pixels)} frames but {len(own)} frame descriptions.")
    frames = Frames(pixels, np.ones(len(pixels), np.int64), own or [None] * len(pixels))
    for f in range(len(pixels)):
        group = frames.group(dataset, "SegmentIdentificationSequence", f)
        if group is not None:
            frames.segments[f] = int(group.ReferencedSegmentNumber)
    return frames


def placed_in_space(
    dataset: Any,  # noqa: ANN401
    labels: np.ndarray,
    frames: Frames,
    name: str,
    notes: list[str],
) -> Mask:
    """The frames as a volume, or as one picture where the file gives no position.

    Args:
        dataset: the object.
        labels: (F, rows, columns).
        frames: the frames.
        name: of the file.
        notes: gets what a reader should know.

    Raises:
        BadFile: several pictures without positions, several orientations, uneven slices.

    Source: C.7.6.16.2.1 Pixel Measures, C.7.6.16.2.3 and .4 Plane Position and Orientation.
    """
    count = range(len(labels))
    positions = [frames.group(dataset, "PlanePositionSequence", f) for f in count]
    planes = [frames.group(dataset, "PlaneOrientationSequence", f) for f in count]
    measures = frames.group(dataset, "PixelMeasuresSequence", 0)
    if any(p is None for p in (*positions, *planes)) or measures is None:
        if len(set(frames.segments.tolist())) != len(labels):
            raise BadFile(f"{name}: several frames a segment and no positions to order them by.")
        spacing = tuple(float(e) for e in measures.PixelSpacing) if measures is not None else None
        notes.append("the file gives no position; only shape is compared")
        return Mask(_merged(labels, np.zeros(len(labels), np.int64), 1, name)[0], spacing)
    cosines = np.array([[float(c) for c in p.ImageOrientationPatient] for p in planes])
    if np.abs(cosines - cosines[0]).max() > 1e-4:
        raise BadFile(f"{name}: its frames lie in several orientations.")
    across, down = cosines[0, :3], cosines[0, 3:]
    corners = np.array([[float(c) for c in p.ImagePositionPatient] for p in positions])
    row_edge, column_edge = (float(edge) for edge in measures.PixelSpacing)
    normal = np.cross(across, down)
    slices, step = _slices(corners @ normal, measures, name, notes)
    first = corners[int(np.argmin(slices))]
    drift = (corners - first) - np.outer(slices * step, normal)
    if np.abs(drift).max() > UNEVEN * min(row_edge, column_edge) + UNEVEN * step:
        raise BadFile(f"{name}: its frames are shifted against each other in their plane.")
    volume = _merged(labels, slices, int(slices.max()) + 1, name)
    affine = np.eye(4)
    affine[:3, :3] = np.column_stack([across * column_edge, down * row_edge, normal * step])
    affine[:3, 3] = first
    return Mask(
        volume.transpose(2, 1, 0), (column_edge, row_edge, step), TO_RAS @ affine,
        sparse=True, notes=tuple(notes),
    )  # fmt: skip


def _slices(
    along: np.ndarray,
    measures: Any,  # noqa: ANN401
    name: str,
    notes: list[str],
) -> tuple[np.ndarray, float]:
    """Slice number of each frame, and the distance of slices in millimetres."""
    stated = measures.get("SpacingBetweenSlices") or measures.get("SliceThickness")
    distinct = np.unique(np.round(along, 3))
    gaps = np.diff(distinct)
    if measures.get("SpacingBetweenSlices"):
        step = abs(float(measures.SpacingBetweenSlices))
    elif gaps.size:
        step = float(gaps.min())
    else:
        step = float(stated or 1.0)
        notes.append(f"one slice: its thickness of {step:g} mm is taken as the slice distance")
    if not step > 0:
        raise BadFile(f"{name}: a slice distance of {step} mm.")
    places = (along - along.min()) / step
    slices = np.rint(places).astype(np.int64)
    if np.abs(places - slices).max() > UNEVEN:
        raise BadFile(f"{name}: its slices lie at uneven distances: {gaps.tolist()} mm.")
    return slices, step


def _merged(labels: np.ndarray, slices: np.ndarray, depth: int, name: str) -> np.ndarray:
    if depth * labels[0].size > LARGEST:
        raise BadFile(f"{name}: {depth} slices of {labels[0].shape}; its positions are damaged.")
    volume = np.zeros((depth, *labels.shape[1:]), labels.dtype)
    shared = 0
    for frame, place in zip(labels, slices.tolist(), strict=True):
        target = volume[place]
        inside = frame != 0
        shared += int(np.count_nonzero(target[inside]))
        target[inside] = frame[inside]
    if shared and labels.dtype != np.bool_:
        raise BadFile(
            f"{name}: segments overlap in {shared} pixels, and a label map holds one label a pixel. "
            "Score one segment at a time with --segment."
        )
    return volume


def tiled(
    dataset: Any,  # noqa: ANN401
    labels: np.ndarray,
    frames: Frames,
    name: str,
) -> tuple[np.ndarray, tuple[float, float] | None]:
    """The tiles of a whole slide as one picture, and its spacing.

    Raises:
        BadFile: a tile outside the slide, or segments that overlap.

    Source: C.7.6.17.3 Dimension Organization Type, C.8.12.6.1 Plane Position (Slide).
    """
    rows, columns = int(dataset.TotalPixelMatrixRows), int(dataset.TotalPixelMatrixColumns)
    if rows * columns > LARGEST:
        raise BadFile(f"{name}: a slide of {rows} x {columns} pixels; the header is damaged.")
    high, wide = labels.shape[1:]
    whole = np.zeros((rows, columns), labels.dtype)
    across = -(-columns // wide)
    for f, tile in enumerate(labels):
        place = frames.group(dataset, "PlanePositionSlideSequence", f)
        if place is None:  # TILED_FULL: row by row
            top, left = f // across % -(-rows // high) * high, f % across * wide
        else:
            top = int(place.RowPositionInTotalImagePixelMatrix) - 1
            left = int(place.ColumnPositionInTotalImagePixelMatrix) - 1
        if not (0 <= top < rows and 0 <= left < columns):
            raise BadFile(f"{name}: a tile at row {top + 1}, column {left + 1} lies outside.")
        target = whole[top : top + high, left : left + wide]
        part = tile[: target.shape[0], : target.shape[1]]
        if ((target != 0) & (part != 0)).any() and labels.dtype != np.bool_:
            raise BadFile(f"{name}: segments overlap; score one at a time with --segment.")
        target[part != 0] = part[part != 0]
    measures = frames.group(dataset, "PixelMeasuresSequence", 0)
    if measures is None:
        return whole, None
    row_edge, column_edge = (float(edge) for edge in measures.PixelSpacing)
    return whole, (row_edge, column_edge)
