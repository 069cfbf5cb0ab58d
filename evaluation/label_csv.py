"""Scores and targets of a classification, read from CSV.

Axes: N cases, C labels.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from medfed.errors import ConfigError
from medfed.evaluation.folders.pairing import PatientRule
from medfed.evaluation.folders.strict_json import decoded_number

__all__ = ["LabelTable", "read_label_table"]

SCORE, TARGET = "score", "target"
NOT_LABELS = ("case", "patient")


@dataclass(frozen=True, slots=True)
class LabelTable:
    """What the CSV files say.

    Attributes:
        labels: C names.
        cases: N names.
        patients: (N,) whom each case belongs to.
        scores: (N, C).
        targets: (N, C) 1, 0, -1 uncertain, nan not labelled.
        notes: cases that stand in one file only.
    """

    labels: tuple[str, ...]
    cases: tuple[str, ...]
    patients: tuple[str, ...]
    scores: np.ndarray
    targets: np.ndarray
    notes: tuple[str, ...] = ()


def read_label_table(
    scores: Path,
    targets: Path | None = None,
    *,
    labels: Sequence[str] = (),
    patient_pattern: str = "",
) -> LabelTable:
    """Read one CSV with score:LABEL and target:LABEL columns, or two with a column a label.

    Args:
        scores: CSV with a column case, and perhaps patient.
        targets: CSV with a column case.
        labels: labels to keep, in this order; empty for all.
        patient_pattern: finds the patient in a case's name where there is no column patient.

    Raises:
        ConfigError: a file or column is missing, a cell is no number, a case stands there twice.
    """
    ours = _read(scores)
    theirs = ours if targets is None else _read(targets)
    names = _labels(ours, theirs, scores, targets, labels)
    shared = [case for case in ours if case in theirs]
    if not shared:
        raise ConfigError(f"{scores} and {targets} have no case in common.")
    notes = []
    for path, table, other in ((scores, ours, theirs), (targets, theirs, ours)):
        if missing := sum(case not in other for case in table):
            notes.append(f"{missing} cases stand in {path} only and are left out.")
    prefixes = ("", "") if targets is not None else (f"{SCORE}:", f"{TARGET}:")
    rule = PatientRule(patient_pattern)
    return LabelTable(
        names, tuple(shared),
        tuple(ours[c].get("patient") or theirs[c].get("patient") or rule.of(c) for c in shared),
        _numbers(ours, shared, names, prefixes[0], scores),
        _numbers(theirs, shared, names, prefixes[1], targets or scores), tuple(notes),
    )  # fmt: skip


def _read(path: Path) -> dict[str, dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
            names = list(reader.fieldnames or [])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"{path}: cannot be read as CSV ({error}).") from None
    if "case" not in names or not rows:
        raise ConfigError(f"{path}: needs a column 'case' and at least one row (it has {names}).")
    if len(set(names)) != len(names):
        raise ConfigError(f"{path}: a column stands there twice ({names}).")
    table: dict[str, dict[str, str]] = {}
    for number, row in enumerate(rows, start=2):
        if not row["case"] or row["case"] in table:
            raise ConfigError(
                f"{path}, line {number}: case {row['case']!r} is empty or there twice."
            )
        table[row["case"]] = row
    return table


def _labels(
    ours: dict[str, dict[str, str]], theirs: dict[str, dict[str, str]], scores: Path,
    targets: Path | None, wanted: Sequence[str],
) -> tuple[str, ...]:  # fmt: skip
    columns = list(next(iter(ours.values())))
    others = list(next(iter(theirs.values())))
    if targets is not None:
        found = [name for name in columns if name in others and name not in NOT_LABELS]
    else:
        if SCORE in columns and TARGET in columns:
            for row in ours.values():
                row[f"{SCORE}:{SCORE}"], row[f"{TARGET}:{SCORE}"] = row[SCORE], row[TARGET]
            columns += [f"{SCORE}:{SCORE}", f"{TARGET}:{SCORE}"]
        stems = [name.removeprefix(f"{SCORE}:") for name in columns if name.startswith(f"{SCORE}:")]
        found = [stem for stem in stems if f"{TARGET}:{stem}" in columns]
    if not found:
        where = f"{scores} and {targets} share no label column" if targets else (
            f"{scores}: no pair of columns score:LABEL and target:LABEL"
        )  # fmt: skip
        raise ConfigError(f"{where} (columns: {', '.join(columns)}).")
    for name in wanted:
        if name not in found:
            raise ConfigError(f"--labels {name!r} is unknown (known: {', '.join(found)}).")
    return tuple(wanted) or tuple(found)


def _numbers(
    table: dict[str, dict[str, str]],
    cases: Sequence[str],
    names: Sequence[str],
    prefix: str,
    path: Path,
) -> np.ndarray:
    values = np.empty((len(cases), len(names)))
    for n, case in enumerate(cases):
        for c, name in enumerate(names):
            cell = table[case][prefix + name]
            try:
                values[n, c] = decoded_number((cell or "").strip())
            except ValueError:
                raise ConfigError(
                    f"{path}, case {case!r}, {name}: {cell!r} is no number."
                ) from None
    return values
