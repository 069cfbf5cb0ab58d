"""Two evaluations of the same cases: is the second better than the first, and by how much?

The unit is the patient: differences of a patient's cases are averaged first, so that a patient with
many images counts once. A failed case and a missed object count at their worst on their own side.

Axes: P patients.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import numpy as np

from medfed.errors import ConfigError, DataError, RunFolderError
from medfed.evaluation.bootstrap import bootstrap_interval
from medfed.evaluation.folders.case import CaseResult
from medfed.evaluation.folders.metrics import Metric, metrics_of
from medfed.evaluation.folders.results import StoredResults, versions
from medfed.evaluation.folders.strict_json import dumped, plain
from medfed.evaluation.folders.summary import values_of, with_penalty
from medfed.files import write_atomically

__all__ = ["Comparison", "Row", "compare_results", "holm", "paired", "write_comparison"]

# Settings that may differ between the two sides: they say how one side's files are read.
MAY_DIFFER = ("threshold", "segment", "key", "components", "penalty_mm", "bootstrap", "seed")
FEWEST = 6  # patients below which Wilcoxon's exact test cannot reach p < 0.05


@dataclass(frozen=True, slots=True)
class Row:
    """One region and score, compared. Differences are second minus first.

    Attributes:
        region: its name.
        metric: its name.
        cases: cases scored or failed on both sides.
        patients: P.
        mean_a: mean over patients of the first.
        mean_b: of the second.
        difference: mean of the differences.
        low: lower end of its 95 % percentile interval over patients.
        high: upper end.
        median_difference: over patients.
        p: two-sided Wilcoxon signed-rank test; nan where all differences are 0.
        p_holm: the same, corrected for the number of rows by Holm's method.
        rank_biserial: matched-pairs rank-biserial correlation: 1 where the second is higher for every
            patient, -1 where it is lower.
        cohen_dz: mean difference over the standard deviation of differences.
        wins: patients for whom the second is better.
        ties: patients without a difference.
        losses: patients for whom the first is better.
        better: B or A where the interval excludes 0, else a dash.
    """

    region: str
    metric: str
    cases: int
    patients: int
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    median_difference: float
    p: float
    p_holm: float
    rank_biserial: float
    cohen_dz: float
    wins: int
    ties: int
    losses: int
    better: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows.

    Attributes:
        rows: by region and score.
        notes: what a reader must know.
        only_a: cases that only the first evaluated; they are left out.
        only_b: cases that only the second evaluated.
    """

    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def compare_results(
    first: StoredResults,
    second: StoredResults,
    *,
    metrics: Sequence[str] = (),
    penalty_mm: float = 0.0,
    bootstrap: int = 2_000,
    seed: int = 0,
) -> Comparison:
    """Compare two evaluations on the cases that both have.

    Args:
        first: A.
        second: B.
        metrics: scores by name; empty for the main ones.
        penalty_mm: what an infinite distance and a failed case count; 0 for the image's diagonal.
        bootstrap: resamples of the intervals.
        seed: of the resamples.

    Raises:
        ConfigError: the two were scored with different settings, or a score is unknown.
        DataError: no case in common.
    """
    _same_settings(first, second)
    chosen = _chosen(first, metrics)
    pairs, only_a, only_b = _common(first.results, second.results)
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    rows = []
    for region in _regions(pairs):
        for metric in chosen:
            a = with_penalty(one, values_of(one, region, metric), metric, penalty_mm)
            b = with_penalty(other, values_of(other, region, metric), metric, penalty_mm)
            patients = np.array([result.patient for result in one])
            row = paired(a, b, patients, metric, bootstrap=bootstrap, seed=seed)
            rows.append(replace(row, region=region))
    corrected = holm([row.p for row in rows])
    rows = [replace(row, p_holm=p) for row, p in zip(rows, corrected, strict=True)]
    return Comparison(tuple(rows), _notes(rows, only_a, only_b), only_a, only_b)


def paired(
    first: np.ndarray,
    second: np.ndarray,
    patients: np.ndarray,
    metric: Metric,
    *,
    bootstrap: int = 2_000,
    seed: int = 0,
) -> Row:
    """Compare one score.

    A case that is undefined on both sides is left out; one that is undefined on one side alone cannot
    be, as both have the same reference, but for a prediction that is empty: it is left out too.

    Args:
        first: (N,) A's scores, failures at their worst.
        second: (N,) B's scores of the same cases.
        patients: (N,) whom each case belongs to.
        metric: which score.
        bootstrap: resamples of the interval.
        seed: of the resamples.

    Source: Wilcoxon 1945; Pratt 1959 for zeros; Kerby 2014 for the rank-biserial correlation.
    """
    kept = ~(np.isnan(first) | np.isnan(second))
    a, b = _by_patient(first[kept], patients[kept]), _by_patient(second[kept], patients[kept])
    difference = b - a
    low, high = bootstrap_interval(difference, n=bootstrap, seed=seed)
    p, correlation = _signed_ranks(difference)
    sign = 1 if metric.higher_is_better else -1
    better = (
        "B"
        if sign * low > 0 and sign * high > 0
        else "A"
        if sign * low < 0 and sign * high < 0
        else "–"
    )
    spread = float(difference.std(ddof=1)) if difference.size > 1 else float("nan")
    return Row(
        region="", metric=metric.name, cases=int(kept.sum()), patients=difference.size,
        mean_a=_mean(a), mean_b=_mean(b), difference=_mean(difference), low=low, high=high,
        median_difference=float(np.median(difference)) if difference.size else float("nan"),
        p=p, p_holm=p, rank_biserial=correlation,
        cohen_dz=_mean(difference) / spread if spread > 0 else float("nan"),
        wins=int((sign * difference > 0).sum()), ties=int((difference == 0).sum()),
        losses=int((sign * difference < 0).sum()), better=better,
    )  # fmt: skip


def holm(p: Sequence[float]) -> list[float]:
    """Holm's correction; nan is left out and stays nan.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]

    Source: Holm 1979.
    """
    known = [i for i, value in enumerate(p) if value == value]
    corrected, highest = list(p), 0.0
    for rank, i in enumerate(sorted(known, key=lambda i: p[i])):
        highest = max(highest, min(1.0, (len(known) - rank) * p[i]))
        corrected[i] = highest
    return corrected


def write_comparison(out: Path, result: Comparison) -> None:
    """Write compare.csv and compare.json.

    Raises:
        RunFolderError: the folder cannot be written.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, [f.name for f in fields(Row)], lineterminator="\n")
    writer.writeheader()
    for row in result.rows:
        writer.writerow({name: plain(value) for name, value in asdict(row).items()})
    stored = {
        "format": 1, "rows": [asdict(row) for row in result.rows], "notes": result.notes,
        "only_a": result.only_a, "only_b": result.only_b, "versions": versions(),
        "definitions": _definitions(),
    }  # fmt: skip
    try:
        write_atomically(out / "compare.csv", text.getvalue().encode())
        write_atomically(out / "compare.json", dumped(stored, indent=1).encode())
    except OSError as error:
        raise RunFolderError(f"{out}: cannot be written ({error}).") from error


def _definitions() -> dict[str, str]:
    return {
        "difference": "second minus first, mean over patients",
        "interval": "95 % percentile bootstrap over patients",
        "p": "two-sided Wilcoxon signed-rank test over patients, zeros by Pratt",
        "p_holm": "Holm's correction over all rows",
        "rank_biserial": "(sum of positive ranks - sum of negative ranks) / sum of ranks",
        "cohen_dz": "mean difference / standard deviation of differences",
    }


def _same_settings(first: StoredResults, second: StoredResults) -> None:
    differing = [
        f"{name}: {first.settings.get(name)!r} against {second.settings.get(name)!r}"
        for name in sorted(set(first.settings) | set(second.settings))
        if name not in MAY_DIFFER and first.settings.get(name) != second.settings.get(name)
    ]
    if differing:
        raise ConfigError(
            f"{first.folder} and {second.folder} were scored differently ({'; '.join(differing)}). Score "
            "both with the same settings."
        )


def _chosen(first: StoredResults, names: Sequence[str]) -> list[Metric]:
    known = metrics_of(str(first.settings["kind"]), tuple(first.settings.get("presets", ())))
    if not names:
        return [metric for metric in known if metric.main]
    by_name = {metric.name: metric for metric in known}
    for name in names:
        if name not in by_name:
            raise ConfigError(f"--metrics {name!r} is unknown (known: {', '.join(by_name)}).")
    return [by_name[name] for name in names]


def _common(
    first: Sequence[CaseResult], second: Sequence[CaseResult]
) -> tuple[list[tuple[CaseResult, CaseResult]], tuple[str, ...], tuple[str, ...]]:
    one, other = {r.case: r for r in first}, {r.case: r for r in second}
    shared = sorted(set(one) & set(other))
    if not shared:
        raise DataError("the two evaluations have no case in common.")
    pairs = [(one[case], other[case]) for case in shared]
    return pairs, tuple(sorted(set(one) - set(other))), tuple(sorted(set(other) - set(one)))


def _regions(pairs: Sequence[tuple[CaseResult, CaseResult]]) -> list[str]:
    found = {region for pair in pairs for result in pair for region in result.regions}
    return sorted(
        found, key=lambda name: (not name.isdigit(), int(name) if name.isdigit() else 0, name)
    )


def _by_patient(values: np.ndarray, patients: np.ndarray) -> np.ndarray:
    _, members = np.unique(patients, return_inverse=True)
    if not values.size:
        return values
    return np.asarray(np.bincount(members, weights=values) / np.bincount(members))


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else float("nan")


def _signed_ranks(difference: np.ndarray) -> tuple[float, float]:
    """P of the Wilcoxon test, and the rank-biserial correlation."""
    if not difference.size or not difference.any():
        return float("nan"), 0.0 if difference.size else float("nan")
    from scipy.stats import rankdata, wilcoxon

    p = float(wilcoxon(difference, zero_method="pratt").pvalue)
    other = difference[difference != 0]
    ranks = rankdata(np.abs(other))
    return p, float((ranks * np.sign(other)).sum() / ranks.sum())


def _notes(
    rows: Sequence[Row], only_a: tuple[str, ...], only_b: tuple[str, ...]
) -> tuple[str, ...]:
    notes = []
    if only_a or only_b:
        notes.append(
            f"{len(only_a)} cases are in A alone and {len(only_b)} in B alone; they are left out."
        )
    fewest = min((row.patients for row in rows), default=0)
    if fewest < FEWEST:
        notes.append(f"{fewest} patients: too few for the test to find anything below p = 0.05.")
    return tuple(notes)
