"""Nuclei in H&E or fluorescence images, in the layouts of Kumar/MoNuSeg, CPM, HoVer-Net, TNBC, DSB and ImageJ.

Axes: H rows, W columns.
"""

import hashlib
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from medfed.data.cases import file_digest
from medfed.data.masks import MaskedCases, MaskedImage
from medfed.data.nuclei_layouts import LAYOUTS, NucleusImage, found_layout
from medfed.data.vocabulary import Vocabulary
from medfed.errors import BadFile, DataError
from medfed.job import StrictModel
from medfed.transforms.images import read_raw

__all__ = ["NEEDS_ROOT", "Options", "open_dataset"]

NEEDS_ROOT = True
DEFAULT_TASK = "nuclei1"
Layout = Literal[
    "auto",
    "imagescope_xml",
    "cpm_text",
    "hovernet_mat",
    "tnbc",
    "dsb2018",
    "imagej_roi",
    "ternary_png",
    "label_png",
]


class Options(StrictModel):
    """How the folder is laid out."""

    layout: Layout = Field("auto", description="auto takes the first that finds an image")
    spacing_um: float | None = Field(
        None, gt=0, description="edge of a pixel; 0.25 at 40x, 0.5 at 20x"
    )


def open_dataset(root: Path, options: Options, vocabulary: Vocabulary) -> MaskedCases:
    """Every image that has its nuclei; pixels are read on demand.

    Raises:
        DataError: no layout fits, or the named one finds nothing.
    """
    layout = found_layout(root) if options.layout == "auto" else options.layout
    found = LAYOUTS[layout](root) if layout else []
    if not found:
        raise DataError(
            f"{root}: no images with nuclei in layout {options.layout!r} (known: {', '.join(LAYOUTS)}).",
            upstream="no image with a mask was found",
        )
    found.sort(key=lambda image: image.name)
    known = np.ones(len(vocabulary.classes), bool)
    names = tuple(image.name for image in found)
    patients = tuple(image.patient for image in found)
    return MaskedCases(
        names, patients, known, _Files(found, options.spacing_um), np.arange(len(found))
    )


class _Files:
    def __init__(self, found: list[NucleusImage], spacing_um: float | None) -> None:
        self._found = found
        self._spacing_mm = (spacing_um / 1000, spacing_um / 1000) if spacing_um else None

    def read(self, index: int) -> MaskedImage:
        case = self._found[index]
        pixels = read_raw(case.image).scaled()
        image = pixels if pixels.ndim == 3 else np.repeat(pixels[None], 3, axis=0)
        height, width = image.shape[-2:]
        mask = case.read(case.sources, (height, width))
        if mask.shape != (height, width):
            raise BadFile(
                f"{case.sources[0]}: is {mask.shape[1]}x{mask.shape[0]}, but {case.image.name} is {width}x{height}."
                f"{self._fits(mask.shape, index)}"
            )
        return MaskedImage(np.ascontiguousarray(image), mask, self._spacing_mm)

    def digest(self, index: int) -> bytes:
        case = self._found[index]
        return hashlib.sha256(b"".join(map(file_digest, (case.image, *case.sources)))).digest()

    def _fits(self, shape: tuple[int, ...], index: int) -> str:
        """The other image that a mask of the wrong size fits: real data sets have swapped files."""
        for other, case in enumerate(self._found):
            if other != index and _size(case.image) == shape:
                return f" It fits {case.image.name}: the two masks may be swapped."
        return " Restore the mask, or leave the image out with `cases`."


def _size(path: Path) -> tuple[int, int] | None:
    """(H, W) by the header alone."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            return image.height, image.width
    except OSError:
        return None
