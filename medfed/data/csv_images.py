"""Images that a table of the hospital's own names, with a label column or one column a class."""

from pathlib import Path

import numpy as np
from pydantic import Field

from medfed.data.cases import NEGATIVE, POSITIVE, UNKNOWN, Cases, FilePixels
from medfed.data.tables import find_table, image_path, merged, read_table, without_missing
from medfed.data.vocabulary import Vocabulary
from medfed.errors import DataError, LabelNotMapped
from medfed.job import StrictModel

__all__ = ["NEEDS_ROOT", "Options", "open_dataset"]

NEEDS_ROOT = True
CELLS = {
    "1": POSITIVE,
    "0": NEGATIVE,
    "": UNKNOWN,
    "-1": UNKNOWN,
    "true": POSITIVE,
    "false": NEGATIVE,
    "yes": POSITIVE,
    "no": NEGATIVE,
}


class Options(StrictModel):
    """Which column is what."""

    table: str = Field("*.csv", description="pattern of the table below root")
    image: str = Field("image", description="column with the image's path below root")
    patient: str = Field("", description='column with the patient; "" makes each image its own')
    label: str = Field("", description='column with the label; "" takes one column a class')
    separator: str = Field("|", min_length=1, description="between several labels of one cell")
    mapping: dict[str, str] = Field(
        default_factory=dict,
        description='own label or column -> class of the job, "" leaves it out',
    )
    only_present: bool = Field(False, description="leave out rows whose image is not there")


def open_dataset(root: Path, options: Options, vocabulary: Vocabulary) -> Cases:
    """Every row of the table, in its order.

    With a label column, classes that a row does not name are negative if the mapping leads to them, else
    unknown. With one column a class, 1 is positive, 0 negative, blank and -1 unknown.

    Raises:
        DataError: no table, a column or an image is missing, or a row stands twice with other labels.
        LabelNotMapped: a label or cell without a meaning.
    """
    table = find_table(root, options.table)
    columns = _columns(options, vocabulary, table)
    optional = [name for name in (options.patient, options.label) if name]
    needed = [options.image, *optional, *([] if options.label else columns)]
    rows: dict[str, tuple[str, np.ndarray]] = {}
    for number, row in read_table(table, needed):
        where = f"{table}:{number}"
        name = row[options.image].replace("\\", "/")
        patient = row[options.patient] if options.patient else name
        named = _named if options.label else _wide
        merged(
            rows, name, patient, named(row, columns, options, len(vocabulary.classes), where), where
        )
    paths = without_missing(
        rows, lambda name: image_path(name, (root,)), table=table, only_present=options.only_present
    )
    labels = np.array([rows[name][1] for name in paths], np.int8).reshape(
        -1, len(vocabulary.classes)
    )
    if (
        vocabulary.kind == "single_label"
        and len(labels)
        and ((labels == POSITIVE).sum(axis=1) > 1).any()
    ):
        raise DataError(f"{table}: a row has several labels, but the task has one label an image.")
    patients = tuple(rows[name][0] for name in paths)
    return Cases(
        tuple(paths), patients, labels, FilePixels(list(paths.values())), np.arange(len(paths))
    )


def source_labels(root: Path, options: Options) -> dict[str, int]:
    """How often each label stands in the label column; empty with one column a class."""
    counts: dict[str, int] = {}
    if options.label:
        for _, row in read_table(find_table(root, options.table), (options.label,)):
            for label in row[options.label].split(options.separator):
                counts[label.strip()] = counts.get(label.strip(), 0) + 1
    return counts


def _columns(options: Options, vocabulary: Vocabulary, table: Path) -> dict[str, int | None]:
    if not options.mapping:
        return vocabulary.columns("csv_images")
    order: dict[str, int | None] = {name: i for i, name in enumerate(vocabulary.classes)}
    wrong = sorted(set(options.mapping.values()) - {"", *order})
    if wrong:
        raise LabelNotMapped(
            f"{table}: mapping in site.toml leads to {wrong}, which are no classes (known: {list(order)})."
        )
    return {label: order.get(name) for label, name in options.mapping.items()}


def _named(
    row: dict[str, str], columns: dict[str, int | None], options: Options, classes: int, where: str
) -> np.ndarray:
    labels = np.full(classes, UNKNOWN, np.int8)
    labels[[column for column in columns.values() if column is not None]] = NEGATIVE
    for part in row[options.label].split(options.separator):
        label = part.strip()
        if label not in columns:
            raise LabelNotMapped(
                f"{where}: the label {label!r} has no class (known: {sorted(columns)}). "
                'Add it under mapping in site.toml; map it to "" to leave it out.'
            )
        if (column := columns[label]) is not None:
            labels[column] = POSITIVE
    return labels


def _wide(
    row: dict[str, str], columns: dict[str, int | None], options: Options, classes: int, where: str
) -> np.ndarray:
    del options
    labels = np.full(classes, UNKNOWN, np.int8)
    for name, column in columns.items():
        cell = row[name].lower().removesuffix(".0")
        if cell not in CELLS:
            raise LabelNotMapped(
                f"{where}: column {name}: {row[name]!r} is none of 1, 0, -1 and blank."
            )
        if column is not None:
            labels[column] = CELLS[cell]
    return labels
