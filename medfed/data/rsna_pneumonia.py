"""RSNA Pneumonia Detection Challenge: DICOM images, a table of boxes, and a class for each image."""

from pathlib import Path

import numpy as np
from pydantic import Field

from medfed.data.cases import NEGATIVE, POSITIVE, UNKNOWN, Cases, FilePixels
from medfed.data.site import read_lines
from medfed.data.tables import find_table, read_table, without_missing
from medfed.data.vocabulary import Vocabulary
from medfed.errors import DataError, LabelNotMapped
from medfed.job import StrictModel

__all__ = ["NEEDS_ROOT", "Options", "boxes", "open_dataset"]

NEEDS_ROOT = True
DEFAULT_TASK = "cxr14"
CASE, TARGET, CLASS = "patientId", "Target", "class"
BOX = ("x", "y", "width", "height")
NIH_IMAGE = "NIH Image Index"
OPACITY, PNEUMONIA = "Lung Opacity", "Pneumonia"
CLASSES = (OPACITY, "Normal", "No Lung Opacity / Not Normal")


class Options(StrictModel):
    """What a site may say about its copy."""

    table: str = Field("stage_2_train_labels.csv", description="boxes, one a row")
    classes: str = Field("stage_2_detailed_class_info.csv", description='"" where there is none')
    images: str = Field("stage_2_train_images", description="folder of PATIENTID.dcm")
    nih_map: str = Field("", description="table of patientId and NIH Image Index")
    without_nih: Path | None = Field(
        None,
        strict=False,
        description="list of NIH images or patients, one a line: their RSNA copies are left out",
    )
    only_present: bool = Field(False, description="leave out rows whose image is not there")


def open_dataset(root: Path, options: Options, vocabulary: Vocabulary) -> Cases:
    """One case an image: pneumonia where a box stands, lung opacity by the radiologists' class.

    RSNA's images are NIH images. With `nih_map` a case's patient is the NIH's, so that a patient who
    stands in both is seen; with `without_nih` such cases are left out.

    Raises:
        DataError: a table, a column or an image is missing, or two rows contradict each other.
        LabelNotMapped: a target or class that RSNA does not use.
    """
    table = find_table(root, options.table)
    target = _targets(table)
    named = _classes(find_table(root, options.classes)) if options.classes else {}
    nih = _nih_images(find_table(root, options.nih_map)) if options.nih_map else {}
    left_out = _left_out(target, nih, options)
    wanted = [case for case in target if case not in left_out]
    paths = without_missing(
        wanted,
        lambda case: root / options.images / f"{case}.dcm",
        table=table,
        only_present=options.only_present,
    )
    columns = vocabulary.columns("rsna_pneumonia")
    labels = np.full((len(paths), len(vocabulary.classes)), UNKNOWN, np.int8)
    for i, case in enumerate(paths):
        if (column := columns.get(PNEUMONIA)) is not None:
            labels[i, column] = target[case]
        if (column := columns.get(OPACITY)) is not None and case in named:
            labels[i, column] = POSITIVE if named[case] == OPACITY else NEGATIVE
    patients = tuple(nih_patient(nih[case]) if case in nih else case for case in paths)
    return Cases(
        tuple(paths), patients, labels, FilePixels(list(paths.values())), np.arange(len(paths))
    )


def source_labels(root: Path, options: Options) -> dict[str, int]:
    """How often each class and target stands in the tables, once an image."""
    counts: dict[str, int] = {}
    target = _targets(find_table(root, options.table))
    named = _classes(find_table(root, options.classes)) if options.classes else {}
    for case, value in target.items():
        for key in (f"Target {value}", *([named[case]] if case in named else [])):
            counts[key] = counts.get(key, 0) + 1
    return counts


def boxes(root: Path, options: Options) -> dict[str, np.ndarray]:
    """(B, 4) float32 of x, y, width and height in pixels, for each case that has a box."""
    found: dict[str, list[list[float]]] = {}
    for number, row in read_table(find_table(root, options.table), (CASE, *BOX, TARGET)):
        if row[TARGET] == "1":
            try:
                found.setdefault(row[CASE], []).append([float(row[name]) for name in BOX])
            except ValueError as error:
                raise DataError(
                    f"{options.table}:{number}: a box is no four numbers. Restore the table."
                ) from error
    return {case: np.array(rows, np.float32) for case, rows in found.items()}


def nih_patient(image: str) -> str:
    """The NIH's patient number, as its own table writes it, of an image such as 00001836_010.png.

    >>> nih_patient("00001836_010.png"), nih_patient("1836")
    ('1836', '1836')
    """
    return image.split("_")[0].lstrip("0") or "0"


def _targets(table: Path) -> dict[str, int]:
    target: dict[str, int] = {}
    for number, row in read_table(table, (CASE, *BOX, TARGET)):
        if row[TARGET] not in ("0", "1"):
            raise LabelNotMapped(
                f"{table}:{number}: Target {row[TARGET]!r} is neither 0 nor 1. Correct the row."
            )
        value = int(row[TARGET])
        if target.setdefault(row[CASE], value) != value:
            raise DataError(
                f"{table}:{number}: {row[CASE]} has both targets. Remove one row.",
                upstream="an image stands twice in a table with different labels",
            )
    return target


def _classes(table: Path) -> dict[str, str]:
    named: dict[str, str] = {}
    for number, row in read_table(table, (CASE, CLASS)):
        if row[CLASS] not in CLASSES:
            raise LabelNotMapped(
                f"{table}:{number}: class {row[CLASS]!r} is not RSNA's (known: {list(CLASSES)})."
            )
        if named.setdefault(row[CASE], row[CLASS]) != row[CLASS]:
            raise DataError(
                f"{table}:{number}: {row[CASE]} has two classes. Remove one row.",
                upstream="an image stands twice in a table with different labels",
            )
    return named


def _nih_images(table: Path) -> dict[str, str]:
    return {row[CASE]: row[NIH_IMAGE] for _, row in read_table(table, (CASE, NIH_IMAGE))}


def _left_out(target: dict[str, int], nih: dict[str, str], options: Options) -> frozenset[str]:
    if options.without_nih is None:
        return frozenset()
    if not nih:
        raise DataError(
            "without_nih needs nih_map, the table that says which RSNA image is which NIH image."
        )
    private = {nih_patient(line) for line in read_lines(options.without_nih)}
    return frozenset(case for case in target if case in nih and nih_patient(nih[case]) in private)
