"""NIH ChestX-ray14: a Data_Entry table beside PNG images in one or many folders."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pydantic import Field

from medfed.data.cases import NEGATIVE, POSITIVE, UNKNOWN, Cases, FilePixels
from medfed.data.vocabulary import Vocabulary
from medfed.errors import DataError, LabelNotMapped
from medfed.job import StrictModel

__all__ = ["NEEDS_ROOT", "Options", "open_dataset"]

NEEDS_ROOT = True
IMAGE, LABELS, PATIENT = "Image Index", "Finding Labels", "Patient ID"
NO_FINDING = "No Finding"
SUFFIXES = {".png", ".jpg", ".jpeg"}


class Options(StrictModel):
    """What a site may say about its copy."""

    table: str = Field("Data_Entry*.csv", description="pattern of the label table below root")
    images: tuple[str, ...] = Field(
        ("*",),
        strict=False,
        description="patterns of image folders below root; the first that has an image wins",
    )


def open_dataset(root: Path, options: Options, vocabulary: Vocabulary) -> Cases:
    """Every row of the table, in the table's order, with the image it names.

    The NIH looked for every one of its findings in every report, so a finding that is not named is
    negative; a class that the NIH does not annotate is unknown.

    Raises:
        DataError: no table, a column or an image is missing, or a row stands twice with other labels.
        LabelNotMapped: a finding that the vocabulary neither maps nor leaves out.
    """
    table = _table(root, options.table)
    paths = _images(root, options.images)
    columns = vocabulary.columns("nih_cxr14")
    rows: dict[str, tuple[str, np.ndarray]] = {}
    for number, row in _rows(table):
        labels = _labels(row[LABELS], columns, len(vocabulary.classes), f"{table}:{number}")
        name = row[IMAGE].strip()
        if name in rows and not np.array_equal(rows[name][1], labels):
            raise DataError(f"{table}:{number}: {name} stands twice with different findings. Remove one row.",
                            upstream="an image stands twice in a table with different labels")  # fmt: skip
        rows[name] = (row[PATIENT].strip(), labels)
    missing = [name for name in rows if name not in paths]
    if missing:
        raise DataError(
            f"{table}: names {len(missing)} images that are not below {root}, first {missing[0]}. "
            f"Restore the files, name their folder under images (now {list(options.images)}), or take the rows out.",
            upstream="a table names images that are missing",
        )
    return Cases(
        tuple(rows),
        tuple(patient for patient, _ in rows.values()),
        np.array([labels for _, labels in rows.values()], np.int8).reshape(
            -1, len(vocabulary.classes)
        ),
        FilePixels([paths[name] for name in rows]),
        np.arange(len(rows)),
    )


def _table(root: Path, pattern: str) -> Path:
    found = sorted(root.glob(pattern))
    if not found:
        raise DataError(f"{root}: has no label table {pattern!r}. Put it there or set table in site.toml.",
                        upstream="a label table is missing")  # fmt: skip
    return found[0]


def _images(root: Path, patterns: tuple[str, ...]) -> dict[str, Path]:
    """Image files by name; an earlier pattern wins over a later one."""
    found: dict[str, Path] = {}
    for pattern in patterns:
        for folder in sorted(path for path in root.glob(pattern) if path.is_dir()):
            for path in sorted(folder.rglob("*")):
                if path.suffix.lower() in SUFFIXES:
                    found.setdefault(path.name, path)
    for path in sorted(root.iterdir()):
        if path.suffix.lower() in SUFFIXES:
            found.setdefault(path.name, path)
    return found


def _rows(table: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with table.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            absent = sorted({IMAGE, LABELS, PATIENT} - set(reader.fieldnames or ()))
            if absent:
                raise DataError(f"{table}: has no column {absent} (found: {reader.fieldnames}).",
                                upstream="a label table lacks a column")  # fmt: skip
            for number, row in enumerate(reader, start=2):
                if row[IMAGE] is None or row[LABELS] is None or row[PATIENT] is None:
                    raise DataError(f"{table}:{number}: is cut short. Restore the table.",
                                    upstream="a label table is damaged")  # fmt: skip
                yield number, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(
            f"{table}: cannot be read as CSV ({error}).", upstream="a label table is damaged"
        ) from error


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
