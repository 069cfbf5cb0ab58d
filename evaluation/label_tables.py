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

from medfed.errors import RunFolderError
from medfed.evaluation.bootstrap import AurocInterval, bootstrap_auroc
from medfed.evaluation.calibration import BINS, brier, calibration_error
from medfed.evaluation.classification import auprc, sensitivity_at_specificity
from medfed.evaluation.folders.results import versions
from medfed.evaluation.folders.strict_json import dumped, plain
from medfed.evaluation.label_csv import LabelTable
from medfed.evaluation.label_scores import LabelScores, Uncertain
from medfed.files import write_atomically

__all__ = ["LabelResult", "LabelRow", "LabelSettings", "evaluate_labels", "write_labels"]


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
    squared: LabelScores | None = None
    gap: LabelScores | None = None
    if probabilities:
        squared = brier(x, y, uncertain=policy)
        gap = calibration_error(x, y, uncertain=policy)
    else:
        notes.append(
            "scores leave [0, 1], so they are no probabilities: no Brier score and no ECE."
        )
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
                label,
                float(counts.per_label[c]),
                float(interval.low[c]),
                float(interval.high[c]),
                float(area.per_label[c]),
                float(sensitivity.per_label[c]),
                float("nan") if thresholds is None else float(thresholds[c]),
                _at(squared, c),
                _at(gap, c),
                int(counts.positives[c]),
                int(counts.negatives[c]),
                int(counts.unlabelled[c]),
                unsure,
                unsure if settings.uncertain == "ignore" else 0,
            )
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
