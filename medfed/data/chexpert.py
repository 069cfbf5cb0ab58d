"""CheXpert: a table with a path and one column a finding, holding 1, 0, -1 or nothing."""

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from medfed.data.cases import NEGATIVE, POSITIVE, UNKNOWN, Cases, FilePixels
from medfed.data.tables import Row, find_table, image_path, merged, read_table, without_missing
from medfed.data.vocabulary import Vocabulary
from medfed.errors import DataError, LabelNotMapped
from medfed.job import StrictModel

__all__ = ["NEEDS_ROOT", "Options", "open_dataset"]

NEEDS_ROOT = True
DEFAULT_TASK = "cxr14"
PATH, VIEW = "Path", "Frontal/Lateral"
UNCERTAIN = -1.0
POLICIES = {"ignore": UNKNOWN, "ones": POSITIVE, "zeros": NEGATIVE}
FINDINGS = (
    "No Finding",
    "Enlarged Cardiomediastinum",
    "Cardiomegaly",
    "Lung Opacity",
    "Lung Lesion",
    "Edema",
    "Consolidation",
    "Pneumonia",
    "Atelectasis",
    "Pneumothorax",
    "Pleural Effusion",
    "Pleural Other",
    "Fracture",
    "Support Devices",
)


class Options(StrictModel):
    """What a site may say about its copy."""

    table: str = Field("train.csv", description="pattern of the label table below root")
    uncertain: Literal["ignore", "ones", "zeros"] = Field(
        "ignore", description="what -1 becomes: unknown (U-Ignore), positive or negative"
    )
    ones: tuple[str, ...] = Field((), strict=False, description="findings whose -1 is positive")
    zeros: tuple[str, ...] = Field((), strict=False, description="findings whose -1 is negative")
    blank: Literal["negative", "unknown"] = Field(
        "negative", description="a finding that the report does not mention"
    )
    views: Literal["frontal", "all"] = "frontal"
    only_present: bool = Field(False, description="leave out rows whose image is not there")


def open_dataset(root: Path, options: Options, vocabulary: Vocabulary) -> Cases:
    """Every row of the table whose view is wanted, in the table's order.

    A finding whose column is blank in every row was never annotated and is unknown, whatever `blank` says.

    Raises:
        DataError: no table, a column or an image is missing, or a row stands twice with other labels.
        LabelNotMapped: a cell that is none of 1, 0, -1 and blank, or a finding that is not CheXpert's.
    """
    table = find_table(root, options.table)
    mapped = {
        name: column
        for name, column in vocabulary.columns("chexpert").items()
        if column is not None
    }
    lines = _wanted(read_table(table, (PATH, *mapped)), options)
    meaning = {name: _meaning(name, lines, options) for name in mapped}
    rows: dict[str, tuple[str, np.ndarray]] = {}
    for number, row in lines:
        labels = np.full(len(vocabulary.classes), UNKNOWN, np.int8)
        for finding, column in mapped.items():
            labels[column] = _label(row[finding], meaning[finding], f"{table}:{number}: {finding}")
        name = row[PATH].replace("\\", "/")
        merged(rows, name, _patient(name), labels, f"{table}:{number}")
    folders = (root, root.parent)
    paths = without_missing(
        rows, lambda name: image_path(name, folders), table=table, only_present=options.only_present
    )
    return Cases(
        tuple(paths),
        tuple(rows[name][0] for name in paths),
        np.array([rows[name][1] for name in paths], np.int8).reshape(-1, len(vocabulary.classes)),
        FilePixels(list(paths.values())),
        np.arange(len(paths)),
    )


def source_labels(root: Path, options: Options) -> dict[str, int]:
    """How often each finding is 1, 0, -1 or blank in the table."""
    counts: dict[str, int] = {}
    for _, row in _wanted(read_table(find_table(root, options.table), (PATH,)), options):
        for finding in FINDINGS:
            if finding in row:
                key = f"{finding} {_shown(row[finding])}"
                counts[key] = counts.get(key, 0) + 1
    return counts


def _wanted(lines: list[Row], options: Options) -> list[Row]:
    if options.views == "all":
        return lines
    return [line for line in lines if line[1].get(VIEW, "Frontal") in ("Frontal", "")]


def _meaning(finding: str, lines: list[Row], options: Options) -> dict[float | None, int]:
    """What 1, 0, -1 and blank (None) become for one finding."""
    unknown = [name for name in (*options.ones, *options.zeros) if name not in FINDINGS]
    if unknown:
        raise DataError(
            f"ones/zeros in site.toml name {unknown}, which CheXpert does not annotate (known: {list(FINDINGS)})."
        )
    uncertain = POLICIES[options.uncertain]
    uncertain = POSITIVE if finding in options.ones else uncertain
    uncertain = NEGATIVE if finding in options.zeros else uncertain
    mentioned = any(row[finding] for _, row in lines)
    blank = NEGATIVE if mentioned and options.blank == "negative" else UNKNOWN
    return {1.0: POSITIVE, 0.0: NEGATIVE, UNCERTAIN: uncertain, None: blank}


def _label(cell: str, meaning: dict[float | None, int], where: str) -> int:
    try:
        return meaning[float(cell) if cell else None]
    except (ValueError, KeyError) as error:
        raise LabelNotMapped(
            f"{where}: {cell!r} is none of 1, 0, -1 and blank. Correct the cell."
        ) from error


def _shown(cell: str) -> str:
    return cell.removesuffix(".0") if cell else "blank"


def _patient(path: str) -> str:
    """The folder that CheXpert names for the patient; the whole path where there is none."""
    return next((part for part in path.split("/") if part.lower().startswith("patient")), path)
