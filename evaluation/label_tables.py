"""Classification from CSV files: scores and targets in, one row a label out.

Axes: N cases, C labels.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from medfed.errors import ConfigError, RunFolderError
from medfed.evaluation.bootstrap import AurocInterval, bootstrap_auroc
from medfed.evaluation.calibration import BINS, brier, calibration_error
from medfed.evaluation.classification import auprc, sensitivity_at_specificity
from medfed.evaluation.folders.pairing import PatientRule
from medfed.evaluation.folders.results import versions
from medfed.evaluation.folders.strict_json import decoded_number, dumped, plain
from medfed.evaluation.label_scores import LabelScores, Uncertain
from medfed.files import write_atomically

__all__ = [
    "LabelResult", "LabelRow", "LabelSettings", "LabelTable", "evaluate_labels", "read_label_table",
    "write_labels",
]  # fmt: skip

SCORE, TARGET = "score", "target"
NOT_LABELS = ("case", "patient")


@dataclass(frozen=True, slots=True)
class LabelSettings:
    """How a classification is scored.

    Attributes:
        uncertain: what a target of -1 counts.
        specificity: at which the sensitivity is given.
        bootstrap: resamples of the 95 % intervals.
        seed: of the resamples.
    """

    uncertain: Uncertain = "ignore"
    specificity: float = 0.9
    bootstrap: int = 2_000
    seed: int = 0


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


@dataclass(frozen=True, slots=True)
class LabelRow:
    """Scores of one label, or their mean; nan where undefined or not probabilities."""

    label: str
    auroc: float
    auroc_low: float
    auroc_high: float
    auprc: float
    sensitivity: float
    threshold: float
    brier: float
    calibration_error: float
    positives: int
    negatives: int
    unlabelled: int
    uncertain: int
    left_out_uncertain: int


@dataclass(frozen=True, slots=True)
class LabelResult:
    """A classification, scored.

    Attributes:
        table: what was scored.
        settings: how.
        rows: one a label.
        macro: means over the labels where a score is defined.
        notes: what a reader must know.
    """

    table: LabelTable
    settings: LabelSettings
    rows: tuple[LabelRow, ...]
    macro: LabelRow
    notes: tuple[str, ...]


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


def evaluate_labels(table: LabelTable, settings: LabelSettings) -> LabelResult:
    """Score every label.

    Raises:
        InputError: a target is not 1, 0, -1 or empty, or a labelled case has no score.
    """
    x, y, policy = table.scores, table.targets, settings.uncertain
    interval = bootstrap_auroc(
        x, y, patients=np.array(table.patients), n=settings.bootstrap, seed=settings.seed,
        uncertain=policy,
    )  # fmt: skip
    sensitivity = sensitivity_at_specificity(
        x, y, specificity=settings.specificity, uncertain=policy
    )
    area = auprc(x, y, uncertain=policy)
    known = x[~np.isnan(y)]
    probabilities = bool(known.size == 0 or (known.min() >= 0 and known.max() <= 1))
    notes = list(table.notes)
    if probabilities:
        squared, gap = brier(x, y, uncertain=policy), calibration_error(x, y, uncertain=policy)
    else:
        notes.append("scores leave [0, 1], so they are no probabilities: no Brier score and no ECE.")
        squared = gap = None
    if interval.scores.undefined:
        notes.append(
            f"{interval.scores.undefined} labels have one class only: no AUROC, left out of the mean."
        )
    if len(set(table.patients)) == len(table.cases):
        notes.append("each case is taken for a patient of its own.")
    rows = _rows(table, settings, interval, area, sensitivity, squared, gap)
    return LabelResult(table, settings, tuple(rows), _macro(rows, interval), tuple(notes))


def write_labels(out: Path, result: LabelResult) -> None:
    """Write labels.csv and labels.json.

    Raises:
        RunFolderError: the folder cannot be written.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, [f.name for f in fields(LabelRow)], lineterminator="\n")
    writer.writeheader()
    for row in (*result.rows, result.macro):
        writer.writerow({name: plain(value) for name, value in asdict(row).items()})
    stored = {
        "format": 1, "settings": asdict(result.settings), "definitions": definitions(result.settings),
        "versions": versions(), "cases": len(result.table.cases), "notes": result.notes,
        "labels": [asdict(row) for row in result.rows], "macro": asdict(result.macro),
    }  # fmt: skip
    try:
        write_atomically(out / "labels.csv", text.getvalue().encode())
        write_atomically(out / "labels.json", dumped(stored, indent=1).encode())
    except OSError as error:
        raise RunFolderError(f"{out}: cannot be written ({error}).") from error


def definitions(settings: LabelSettings) -> dict[str, str]:
    """What each column is."""
    return {
        "auroc": "Mann-Whitney, ties 1/2; one class only: nan, left out of the mean and counted",
        "auroc_low, auroc_high": f"95 % percentile bootstrap over patients, {settings.bootstrap} resamples",
        "auprc": "average precision",
        "sensitivity": f"highest of any threshold with a specificity of at least {settings.specificity:g}",
        "threshold": "that threshold; a case is positive at or above it",
        "brier": "mean squared difference between probability and outcome",
        "calibration_error": f"expected calibration error, {BINS} bins of equal width",
        "uncertain": f"targets of -1, policy: {settings.uncertain}",
    }


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
            raise ConfigError(f"{path}, line {number}: case {row['case']!r} is empty or there twice.")
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
    table: dict[str, dict[str, str]], cases: Sequence[str], names: Sequence[str], prefix: str, path: Path
) -> np.ndarray:
    values = np.empty((len(cases), len(names)))
    for n, case in enumerate(cases):
        for c, name in enumerate(names):
            cell = table[case][prefix + name]
            try:
                values[n, c] = decoded_number((cell or "").strip())
            except ValueError:
                raise ConfigError(f"{path}, case {case!r}, {name}: {cell!r} is no number.") from None
    return values


def _rows(
    table: LabelTable, settings: LabelSettings, interval: AurocInterval, area: LabelScores,
    sensitivity: LabelScores, squared: LabelScores | None, gap: LabelScores | None,
) -> list[LabelRow]:  # fmt: skip
    rows = []
    counts = interval.scores
    thresholds = sensitivity.thresholds
    for c, label in enumerate(table.labels):
        unsure = int(counts.uncertain[c])
        rows.append(
            LabelRow(
                label, float(counts.per_label[c]), float(interval.low[c]), float(interval.high[c]),
                float(area.per_label[c]), float(sensitivity.per_label[c]),
                float("nan") if thresholds is None else float(thresholds[c]),
                _at(squared, c), _at(gap, c), int(counts.positives[c]), int(counts.negatives[c]),
                int(counts.unlabelled[c]), unsure, unsure if settings.uncertain == "ignore" else 0,
            )  # fmt: skip
        )
    return rows


def _at(scores: LabelScores | None, c: int) -> float:
    return float("nan") if scores is None else float(scores.per_label[c])


def _macro(rows: Sequence[LabelRow], interval: AurocInterval) -> LabelRow:
    means: dict[str, Any] = {"label": "mean of labels"}
    for name in ("auroc", "auprc", "sensitivity", "brier", "calibration_error"):
        defined = [v for v in (float(getattr(row, name)) for row in rows) if v == v]
        means[name] = sum(defined) / len(defined) if defined else float("nan")
    for name in ("positives", "negatives", "unlabelled", "uncertain", "left_out_uncertain"):
        means[name] = sum(int(getattr(row, name)) for row in rows)
    return replace(
        rows[0], **means, auroc_low=interval.macro_low, auroc_high=interval.macro_high,
        threshold=float("nan"),
    )  # fmt: skip
