"""Which file holds the nuclei of which image, in the layouts that data sets of nuclei come in.

Axes: H rows, W columns.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from medfed.data.folders import files_below
from medfed.transforms.instance_files import (
    read_binary,
    read_imagescope,
    read_label_image,
    read_mask_folder,
    read_mat,
    read_roi_archive,
    read_ternary,
    read_text_mask,
)

__all__ = ["LAYOUTS", "NucleusImage", "found_layout"]

PICTURES = frozenset({".png", ".tif", ".tiff", ".jpg", ".jpeg", ".bmp"})
TCGA = re.compile(r"^(TCGA-[A-Z0-9]{2}-[A-Z0-9]{4})")  # a TCGA barcode up to the patient
LABEL_FOLDERS = ("labels", "masks", "label", "mask", "labels16")
TERNARY_FOLDERS = ("labels3",)
IMAGE_FOLDERS = ("images", "tissue images", "image", "imgs")

Shape = tuple[int, int]


@dataclass(frozen=True, slots=True)
class NucleusImage:
    """One image and where its nuclei are.

    Args:
        name: path below root.
        patient: by TCGA barcode or slide where the layout tells, else the image itself.
        image: the picture.
        sources: files that hold the nuclei.
        read: sources and the image's (H, W) to (H, W) int32 instances.
    """

    name: str
    patient: str
    image: Path
    sources: tuple[Path, ...]
    read: Callable[[tuple[Path, ...], Shape], np.ndarray]


def found_layout(root: Path) -> str | None:
    """The first layout that finds an image below `root`; None where none does."""
    return next((name for name, find in LAYOUTS.items() if find(root)), None)


def _imagescope(root: Path) -> list[NucleusImage]:
    return _paired(root, files_below(root, {".xml"}), lambda s, shape: read_imagescope(s[0], shape))


def _text(root: Path) -> list[NucleusImage]:
    masks = [path for path in files_below(root, {".txt"}) if path.stem.endswith("_mask")]
    return _paired(root, masks, lambda s, _: read_text_mask(s[0]), ending="_mask")


def _mat(root: Path) -> list[NucleusImage]:
    return _paired(root, files_below(root, {".mat"}), lambda s, _: read_mat(s[0]))


def _slides(root: Path) -> list[NucleusImage]:
    found = []
    for path in files_below(root, PICTURES):
        folder = path.parent.name
        mask = path.parent.parent / folder.replace("Slide_", "GT_", 1) / path.name
        if folder.startswith("Slide_") and mask.is_file():
            found.append(_one(root, path, (mask,), lambda s, _: read_binary(s[0]), patient=folder))
    return found


def _one_folder_a_case(root: Path) -> list[NucleusImage]:
    found = []
    for path in files_below(root, PICTURES):
        folder = path.parent.parent / "masks"
        if path.parent.name == "images" and path.parent.parent != root and folder.is_dir():
            masks = tuple(files_below(folder, PICTURES))
            found.append(_one(root, path, masks, read_mask_folder, patient=path.parent.parent.name))
    return found


def _roi(root: Path) -> list[NucleusImage]:
    archives = files_below(root, {".zip", ".roi"})
    by_name = _paired(
        root, archives, lambda s, shape: read_roi_archive(s[0], shape), ending="_RoiSet"
    )
    used = {image.sources[0] for image in by_name}
    for archive in archives:
        beside = [
            path for path in files_below(archive.parent, PICTURES) if path.parent == archive.parent
        ]
        if archive not in used and len(beside) == 1:
            by_name.append(
                _one(root, beside[0], (archive,), lambda s, shape: read_roi_archive(s[0], shape))
            )
    return by_name


def _labels(root: Path) -> list[NucleusImage]:
    masks = [
        path for path in files_below(root, PICTURES) if path.parent.name.lower() in LABEL_FOLDERS
    ]
    return _paired(root, masks, lambda s, _: read_label_image(s[0]))


def _ternary(root: Path) -> list[NucleusImage]:
    masks = [
        path for path in files_below(root, PICTURES) if path.parent.name.lower() in TERNARY_FOLDERS
    ]
    return _paired(root, masks, lambda s, _: read_ternary(s[0]))


def _paired(
    root: Path,
    sources: list[Path],
    read: Callable[[tuple[Path, ...], Shape], np.ndarray],
    *,
    ending: str = "",
) -> list[NucleusImage]:
    """Sources with the picture of the same name, beside them or in a folder of images."""
    if not sources:
        return []
    special = {*LABEL_FOLDERS, *TERNARY_FOLDERS}
    pictures: dict[str, list[Path]] = {}
    for path in files_below(root, PICTURES):
        if path.parent.name.lower() not in special:
            pictures.setdefault(path.stem, []).append(path)
    found = []
    for source in sources:
        candidates = pictures.get(source.stem.removesuffix(ending), [])
        best = min(candidates, key=lambda path: _far(path, source), default=None)
        if best is not None:
            found.append(_one(root, best, (source,), read))
    return found


def _far(path: Path, source: Path) -> tuple[bool, bool, str]:
    """Order of preference: the same parent or grandparent, then a folder that is named for images."""
    near = path.parent == source.parent or path.parent.parent == source.parent.parent
    return not near, path.parent.name.lower() not in IMAGE_FOLDERS, path.as_posix()


def _one(
    root: Path,
    image: Path,
    sources: tuple[Path, ...],
    read: Callable[[tuple[Path, ...], Shape], np.ndarray],
    *,
    patient: str = "",
) -> NucleusImage:
    name = image.relative_to(root).as_posix()
    barcode = TCGA.match(image.name)
    return NucleusImage(name, patient or (barcode[1] if barcode else name), image, sources, read)


LAYOUTS: dict[str, Callable[[Path], list[NucleusImage]]] = {
    "imagescope_xml": _imagescope,  # Kumar, MoNuSeg
    "cpm_text": _text,  # CPM-15, CPM-17
    "hovernet_mat": _mat,
    "tnbc": _slides,
    "dsb2018": _one_folder_a_case,
    "imagej_roi": _roi,
    "ternary_png": _ternary,
    "label_png": _labels,
}
