"""One DICOM image into an array, by the attributes of the standard that decide how it looks.

Modality LUT (PS3.3 C.11.1), VOI LUT or window (C.11.2), photometric interpretation (C.7.6.3.1.2) and
patient orientation (C.7.6.1.1.1) are applied in that order.

Axes: H rows, W columns.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from medfed.errors import BadFile, DependencyMissing
from medfed.transforms.dicom_window import is_windowed, windowed
from medfed.transforms.images import LARGEST_PIXELS, RawImage, check_size

if TYPE_CHECKING:
    from pydicom import Dataset

__all__ = ["age_years", "is_dicom", "open_dicom", "read_dicom"]

TAILS = (0.1, 99.9)  # percentiles that become black and white where a header names no window
UPRIGHT_FROM = {"R": 1, "H": 0}  # first letter of a direction that runs backwards -> axis to flip
AGE_UNITS = {"Y": 1.0, "M": 1 / 12, "W": 7 / 365.25, "D": 1 / 365.25}
UNCOMPRESSED = (
    "1.2.840.10008.1.2",
    "1.2.840.10008.1.2.1",
    "1.2.840.10008.1.2.1.99",
    "1.2.840.10008.1.2.2",
)


def is_dicom(path: Path) -> bool:
    """Whether a file is DICOM by its name, or by the four letters after its preamble."""
    if path.suffix.lower() in (".dcm", ".dicom"):
        return True
    if path.suffix:
        return False
    try:
        with path.open("rb") as file:
            return file.read(132)[128:] == b"DICM"
    except OSError:
        return False


def read_dicom(path: Path) -> RawImage:
    """The image of a single-frame DICOM file, as a reader would show it.

    An 8-bit image without LUT or window keeps its bytes. Deeper images become float32 in [0, 1]: by the
    window or VOI LUT of the header, else from the 0.1st to the 99.9th percentile. MONOCHROME1 is
    inverted, so that bone is bright. Rows and columns are flipped to left and foot where
    PatientOrientation says that they run to the right or the head.

    Raises:
        BadFile: no DICOM, no pixels, several frames, damaged, or compressed in a way that is not installed.
        DependencyMissing: the extra "dicom" is not installed.
    """
    dataset = open_dicom(path)
    _refuse_what_is_no_image(path, dataset)
    try:
        stored = _decode(dataset)
    # Decoders raise what they like: RuntimeError, AttributeError, struct.error.
    except Exception as error:
        raise BadFile(
            f"{path}: its pixels cannot be decoded ({_line(error)}). Export the image again, "
            "uncompressed or as JPEG 2000."
        ) from error
    if stored.size == 0:
        raise BadFile(f"{path}: its PixelData is empty. Export the image again.")
    try:
        image = _shown(stored, dataset)
    except (ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
        raise BadFile(
            f"{path}: its header does not fit its pixels ({_line(error)}). Export the image again."
        ) from error
    return _upright(image, dataset)


def open_dicom(path: Path) -> "Dataset":
    """The header and the undecoded pixels of a file.

    Raises:
        BadFile: missing, empty, too large or no DICOM.
        DependencyMissing: the extra "dicom" is not installed.
    """
    try:
        import pydicom
        from pydicom import config
    except ModuleNotFoundError as error:
        raise DependencyMissing(
            f'{path}: reading DICOM needs pydicom. Install it with: pip install "medfed[dicom]".'
        ) from error
    check_size(path)
    # Real headers break the standard in harmless ways (an age of "62"); what matters is checked here.
    config.settings.reading_validation_mode = config.IGNORE
    try:
        return pydicom.dcmread(path)
    except Exception as error:  # a damaged file may break the parser anywhere
        raise BadFile(
            f"{path}: is no readable DICOM file ({_line(error)}). Export it again."
        ) from error


def age_years(text: str | None) -> float | None:
    """An age of a DICOM header in years; a bare number, which breaks the standard, counts as years.

    >>> age_years("062Y"), age_years("62"), age_years("018M"), age_years("")
    (62.0, 62.0, 1.5, None)
    """
    value = (text or "").strip().upper()
    unit = value[-1:] if value[-1:] in AGE_UNITS else "Y"
    number = value.removesuffix(unit)
    return float(number) * AGE_UNITS[unit] if number.isdigit() else None


def spacing_mm(dataset: "Dataset") -> tuple[float, float] | None:
    """PixelSpacing, or ImagerPixelSpacing at the detector; None where neither is usable."""
    for name in ("PixelSpacing", "ImagerPixelSpacing"):
        try:
            rows, columns = (float(value) for value in dataset.get(name) or ())
        except (TypeError, ValueError):
            continue
        if rows > 0 and columns > 0:
            return rows, columns
    return None


def _refuse_what_is_no_image(path: Path, dataset: "Dataset") -> None:
    if "PixelData" not in dataset:
        raise BadFile(
            f"{path}: holds no PixelData; it is a report, a plan or cut short. Leave it out or export it again."
        )
    if dataset.get("Modality") == "SEG":
        raise BadFile(
            f"{path}: is a segmentation object, not an image. Leave it out of the image folder."
        )
    frames = _whole(dataset.get("NumberOfFrames"), 1)
    if frames > 1:
        raise BadFile(
            f"{path}: holds {frames} frames; medfed reads one image a file. Split it, for example with "
            "`gdcmimg --split` or dcm4che's emf2sf, or convert a volume to NIfTI with dcm2niix."
        )
    rows, columns = _whole(dataset.get("Rows"), 0), _whole(dataset.get("Columns"), 0)
    if rows <= 0 or columns <= 0 or rows * columns > LARGEST_PIXELS:
        raise BadFile(f"{path}: its header claims {rows} x {columns} pixels. Export it again.")


def _decode(dataset: "Dataset") -> np.ndarray:
    syntax = str(dataset.file_meta.get("TransferSyntaxUID", ""))
    if syntax in UNCOMPRESSED and len(dataset.PixelData) % 2:
        dataset.PixelData += b"\0"  # PS3.5 8.1.1 demands an even length; some devices forget it
    return np.asarray(dataset.pixel_array)


def _shown(stored: np.ndarray, dataset: "Dataset") -> RawImage:
    photometric = str(dataset.get("PhotometricInterpretation", "MONOCHROME2"))
    bits = _whole(dataset.get("BitsStored"), 8)
    mode = f"DICOM {photometric} {bits} bit"
    spacing, white = spacing_mm(dataset), float(2**bits - 1)
    if stored.ndim == 3:
        if photometric == "PALETTE COLOR":
            raise ValueError("a palette image of several samples")
        planes = np.ascontiguousarray(stored.transpose(2, 0, 1))
        if planes.dtype.itemsize > 2:
            return RawImage((planes / white).astype(np.float32), 1.0, mode, spacing)
        return RawImage(planes, white, mode, spacing)
    if photometric == "PALETTE COLOR":
        from pydicom.pixels.processing import apply_color_lut

        colours = apply_color_lut(stored, dataset)
        top = 255.0 if colours.dtype == np.uint8 else 65_535.0
        return RawImage(
            np.ascontiguousarray(colours[..., :3].transpose(2, 0, 1)), top, mode, spacing
        )
    inverted = photometric == "MONOCHROME1"
    if bits == 8 and stored.dtype == np.uint8 and not is_windowed(dataset):
        return RawImage(255 - stored if inverted else stored, 255.0, mode, spacing)
    unit = windowed(stored, dataset, tails=TAILS)
    return RawImage(1 - unit if inverted else unit, 1.0, mode, spacing)


def _upright(image: RawImage, dataset: "Dataset") -> RawImage:
    """Columns to the patient's left, rows to the feet, where the header says that they are not."""
    directions = [str(text) for text in dataset.get("PatientOrientation") or ()]
    axes = [
        image.pixels.ndim - 2 + (1 if position == 0 else 0)
        for position, text in enumerate(directions[:2])
        if text[:1] in UPRIGHT_FROM and UPRIGHT_FROM[text[:1]] == 1 - position
    ]
    pixels = np.ascontiguousarray(np.flip(image.pixels, tuple(axes))) if axes else image.pixels
    return RawImage(pixels, image.white, image.mode, image.spacing_mm, "\\".join(directions[:2]))


def _whole(value: object, otherwise: int) -> int:
    try:
        return int(str(value))
    except ValueError:
        return otherwise


def _line(error: Exception) -> str:
    """What an error says, in one line; a first line that ends in a colon needs the second."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return (" ".join(lines[:2]) if lines[0].endswith(":") else lines[0])[:200]
