"""The files in which nuclei come: ImageScope XML, text masks, MATLAB, ImageJ ROI archives, label images.

Every reader gives (H, W) int32, 0 background, 1 .. n nuclei, without gaps. Axes: H rows, W columns.
"""

import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy import ndimage

from medfed.errors import BadFile
from medfed.transforms.images import LARGEST_PIXELS, check_size, read_raw
from medfed.transforms.instances import INSIDE, consecutive

__all__ = [
    "read_binary",
    "read_imagescope",
    "read_label_image",
    "read_mask_folder",
    "read_mat",
    "read_roi_archive",
    "read_ternary",
    "read_text_mask",
]

ROI_HEADER = 64
ROI_SUBPIXEL = 128  # flag of the options field: float coordinates follow the integers
ROI_OUTLINES = {0: "polygon", 7: "freehand", 8: "traced"}
ROI_BOXES = {1: "rectangle", 2: "oval"}


def read_imagescope(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """Regions of an Aperio ImageScope file, drawn on a grid of `shape`; negative regions are left out.

    Raises:
        BadFile: no XML, or no region with three corners.
    """
    check_size(path)
    data = path.read_bytes()
    if b"<!ENTITY" in data or b"<!DOCTYPE" in data:
        raise BadFile(
            f"{path}: declares XML entities, which ImageScope never does. Export it again."
        )
    try:
        root = ElementTree.fromstring(data)  # noqa: S314 - entities are refused above
        outlines = [
            np.array(
                [(float(v.get("Y", "")), float(v.get("X", ""))) for v in region.iter("Vertex")]
            )
            for region in root.iter("Region")
            if region.get("NegativeROA", "0") != "1"
        ]
    except (ElementTree.ParseError, ValueError) as error:
        raise BadFile(
            f"{path}: cannot be read as ImageScope XML ({error}). Export it again."
        ) from error
    outlines = [outline for outline in outlines if len(outline) >= 3]
    if not outlines:
        raise BadFile(f"{path}: holds no region with three corners. Export the annotation again.")
    return drawn(outlines, shape)


def read_text_mask(path: Path) -> np.ndarray:
    """A CPM mask: width and height, then one instance number a pixel, row by row.

    Raises:
        BadFile: not numbers, or too few or many of them.
    """
    check_size(path)
    try:
        numbers = np.array(path.read_bytes().split(), np.int64)
    except (ValueError, OverflowError) as error:
        raise BadFile(f"{path}: holds something that is no whole number ({error}).") from error
    if len(numbers) < 2 or numbers[0] < 1 or numbers[1] < 1:
        raise BadFile(f"{path}: does not begin with width and height.")
    width, height = int(numbers[0]), int(numbers[1])
    if len(numbers) - 2 != width * height:
        raise BadFile(
            f"{path}: promises {width} x {height} pixels but holds {len(numbers) - 2}. Copy it again."
        )
    return _numbered(numbers[2:].reshape(height, width), path)


def read_mat(path: Path, key: str = "inst_map") -> np.ndarray:
    """A MATLAB file with an instance map, as HoVer-Net uses.

    Raises:
        BadFile: no MATLAB 5 file, or it lacks `key`.
    """
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    check_size(path)
    try:
        found = loadmat(path, variable_names=[key]).get(key)
    except NotImplementedError as error:
        raise BadFile(f"{path}: is MATLAB 7.3 (HDF5). Save it with `save(..., '-v7')`.") from error
    except (MatReadError, ValueError, TypeError, OSError, IndexError) as error:
        raise BadFile(
            f"{path}: cannot be read as a MATLAB file ({error}). Copy it again."
        ) from error
    if not isinstance(found, np.ndarray) or found.ndim != 2:
        raise BadFile(f"{path}: holds no 2D array {key!r}.")
    return _numbered(found, path)


def read_label_image(path: Path) -> np.ndarray:
    """An image whose grey values are instance numbers, 8 or 16 bits.

    Raises:
        BadFile: as `read_raw`, or it has colours or fractions.
    """
    image = read_raw(path)
    if image.pixels.ndim != 2:
        raise BadFile(
            f"{path}: has colours; a label image is grey (8 or 16 bits). Save it as 16-bit PNG."
        )
    if image.pixels.dtype == np.float32 and image.mode != "1":
        raise BadFile(
            f"{path}: holds fractions; a label image holds whole numbers. Save it as 16-bit PNG."
        )
    return _numbered(image.pixels, path)


def read_binary(path: Path) -> np.ndarray:
    """A mask of 0 and anything above it; nuclei are its pieces connected by edges."""
    pixels = read_raw(path).pixels
    mask = pixels.max(axis=0) if pixels.ndim == 3 else pixels
    return np.asarray(ndimage.label(mask > 0)[0], np.int32)


def read_ternary(path: Path) -> np.ndarray:
    """An image of 0 background, 1 nucleus, 2 boundary; nuclei are the connected pieces of 1."""
    pixels = read_raw(path).pixels
    if pixels.ndim != 2 or pixels.max(initial=0) > 2:
        raise BadFile(f"{path}: values must be 0, 1 and 2.")
    return np.asarray(ndimage.label(pixels == INSIDE)[0], np.int32)


def read_mask_folder(paths: Sequence[Path], shape: tuple[int, int]) -> np.ndarray:
    """One image a nucleus; a pixel that two claim goes to the smaller nucleus.

    Raises:
        BadFile: a mask of another size.
    """
    masks = []
    for path in paths:
        pixels = read_raw(path).pixels
        mask = (pixels.max(axis=0) if pixels.ndim == 3 else pixels) > 0
        if mask.shape != shape:
            raise BadFile(
                f"{path}: is {mask.shape[1]}x{mask.shape[0]}, its image {shape[1]}x{shape[0]}."
            )
        masks.append(mask)
    canvas = np.zeros(shape, np.int32)
    order = sorted(range(len(masks)), key=lambda i: -int(masks[i].sum()))
    for number, i in enumerate(order, start=1):
        canvas[masks[i]] = number
    return consecutive(canvas)


def read_roi_archive(path: Path, shape: tuple[int, int]) -> np.ndarray:
    """ImageJ's RoiSet.zip, or a single .roi: polygons, freehand and traced outlines, rectangles, ovals.

    Raises:
        BadFile: no archive, or a region of a type that has no area.
    """
    check_size(path)
    try:
        if path.suffix.lower() == ".roi":
            regions = {path.name: path.read_bytes()}
        else:
            with zipfile.ZipFile(path) as archive:
                entries = [e for e in archive.infolist() if e.filename.lower().endswith(".roi")]
                if sum(entry.file_size for entry in entries) > LARGEST_PIXELS:
                    raise BadFile(f"{path}: would unpack to more than an annotation can hold.")
                regions = {entry.filename: archive.read(entry) for entry in entries}
        return drawn([_outline(data) for data in regions.values()], shape)
    except (OSError, zipfile.BadZipFile, struct.error, ValueError) as error:
        raise BadFile(
            f"{path}: cannot be read as ImageJ regions ({error}). Save them again."
        ) from error


def drawn(outlines: Sequence[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """Closed outlines, (n, 2) of row and column with pixel centres at whole numbers, as instances.

    Larger ones are drawn first, so that where contours overlap a small nucleus is not lost.
    """
    from skimage import draw

    tools: Any = draw  # scikit-image has no types
    inside = [tools.polygon(outline[:, 0], outline[:, 1], shape) for outline in outlines]
    canvas = np.zeros(shape, np.int32)
    order = sorted(range(len(inside)), key=lambda i: -len(inside[i][0]))
    for number, i in enumerate(order, start=1):
        canvas[inside[i]] = number
    return consecutive(canvas)


def _outline(data: bytes) -> np.ndarray:
    """One ImageJ region as (n, 2) of row and column; ImageJ counts from a pixel's corner."""
    if data[:4] != b"Iout":
        raise ValueError("a region does not begin with 'Iout'")
    version, kind = struct.unpack_from(">hB", data, 4)
    top, left, bottom, right, count = struct.unpack_from(">hhhhH", data, 8)
    (options,) = struct.unpack_from(">h", data, 50)
    if kind in ROI_BOXES:
        angle = np.linspace(0, 2 * np.pi, 65)[:-1]
        ring = np.stack([np.sin(angle), np.cos(angle)], 1)
        corners = np.array([(-1, -1), (-1, 1), (1, 1), (1, -1)], float)
        unit = (ring if ROI_BOXES[kind] == "oval" else corners) / 2 + 0.5
        return np.asarray(unit * [bottom - top, right - left] + [top, left] - 0.5)
    if kind not in ROI_OUTLINES:
        raise ValueError(f"a region of type {kind} has no area")
    if options & ROI_SUBPIXEL and version >= 222:
        columns, rows = np.frombuffer(data, ">f4", 2 * count, ROI_HEADER + 4 * count).reshape(
            2, count
        )
        return np.stack([rows, columns], 1).astype(float) - 0.5
    columns, rows = np.frombuffer(data, ">i2", 2 * count, ROI_HEADER).reshape(2, count)
    return np.stack([rows + float(top), columns + float(left)], 1) - 0.5


def _numbered(values: np.ndarray, path: Path) -> np.ndarray:
    whole = np.rint(values)
    if values.size == 0 or values.size > LARGEST_PIXELS:
        raise BadFile(f"{path}: has {values.size} pixels.")
    if (whole != values).any() or whole.min() < 0:
        raise BadFile(f"{path}: instance numbers must be whole and not negative.")
    return consecutive(whole.astype(np.int64))
