"""NIH ChestX-ray14: a Data_Entry table beside PNG images in one or many folders."""

from pathlib import Path

import numpy as np
from pydantic import Field

from medfed.data.cases import NEGATIVE, POSITIVE, UNKNOWN, Cases, FilePixels
from medfed.data.folders import IMAGE_SUFFIXES, files_below
from medfed.data.tables import find_table, merged, read_table, without_missing
from medfed.data.vocabulary import Vocabulary
from medfed.errors import LabelNotMapped
from medfed.job import StrictModel

__all__ = ["NEEDS_ROOT", "Options", "open_dataset"]

NEEDS_ROOT = True
DEFAULT_TASK = "cxr14"
IMAGE, LABELS, PATIENT = "Image Index", "Finding Labels", "Patient ID"
NO_FINDING = "No Finding"


class Options(StrictModel):
    """What a site may say about its copy."""

    table: str = Field("Data_Entry*.csv", description="pattern of the label table below root")
    images: tuple[str, ...] = Field(
        ("*",),
        strict=False,
        description="patterns of image folders below root; the first that has an image wins",
    )
    only_present: bool = Field(False, description="leave out rows whose image is not there")


def open_dataset(root: Path, options: Options, vocabulary: Vocabulary) -> Cases:
    """Every row of the table, in the table's order, with the image it names.

    The NIH looked for every one of its findings in every report, so a finding that is not named is
    negative; a class that the NIH does not annotate is unknown.

    Raises:
        DataError: no table, a column or an image is missing, or a row stands twice with other labels.
        LabelNotMapped: a finding that the vocabulary neither maps nor leaves out.
    """
    table = find_table(root, options.table)
    found = images_below(root, options.images)
    columns = vocabulary.columns("nih_cxr14")
    rows: dict[str, tuple[str, np.ndarray]] = {}
    for number, row in read_table(table, (IMAGE, LABELS, PATIENT)):
        where = f"{table}:{number}"
        labels = _labels(row[LABELS], columns, len(vocabulary.classes), where)
        merged(rows, row[IMAGE], row[PATIENT], labels, where)
    paths = without_missing(rows, found.get, table=table, only_present=options.only_present)
    labels = np.array([rows[name][1] for name in paths], np.int8)
    return Cases(
        tuple(paths),
        tuple(rows[name][0] for name in paths),
        labels.reshape(-1, len(vocabulary.classes)),
        FilePixels(list(paths.values())),
        np.arange(len(paths)),
    )


def source_labels(root: Path, options: Options) -> dict[str, int]:
    """How often each finding stands in the table, before any mapping."""
    counts: dict[str, int] = {}
    for _, row in read_table(find_table(root, options.table), (IMAGE, LABELS, PATIENT)):
        for finding in row[LABELS].split("|"):
            counts[finding.strip()] = counts.get(finding.strip(), 0) + 1
    return counts


def images_below(root: Path, patterns: tuple[str, ...]) -> dict[str, Path]:
    """Image files by name; an earlier pattern wins over a later one, and root itself comes last."""
    found: dict[str, Path] = {}
    for pattern in patterns:
        for folder in sorted(path for path in root.glob(pattern) if path.is_dir()):
            for path in files_below(folder, IMAGE_SUFFIXES):
                found.setdefault(path.name, path)
    for path in sorted(root.iterdir()):
        if path.suffix.lower() in IMAGE_SUFFIXES:
            found.setdefault(path.name, path)
    return found


def _labels(text: str, columns: dict[str, int | None], classes: int, where: str) -> np.ndarray:
    labels = np.full(classes, UNKNOWN, np.int8)
    labels[[column for column in columns.values() if column is not None]] = NEGATIVE
    for name in text.split("|"):
        finding = name.strip()
        if finding in ("", NO_FINDING):
            continue
        if finding not in columns:
            raise LabelNotMapped(
                f"{where}: the finding {finding!r} is in no mapping of the vocabulary (known: {sorted(columns)}). "
                "Correct the row."
            )
        column = columns[finding]
        if column is not None:
            labels[column] = POSITIVE
    return labels
