"""Rows become a table: one line a region and score, every absence counted.

Two means stand side by side. `worst_case` counts a failed case as the worst score: 0 for a share, the
penalty for a distance; `excluding` leaves failures out. A score that is undefined, both sides being
empty, is in neither.

Axes: N cases.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medfed.evaluation.absence import OUTCOMES
from medfed.evaluation.bootstrap import bootstrap_interval
from medfed.evaluation.folders.case import CaseResult
from medfed.evaluation.folders.metrics import Metric, metrics_of
from medfed.evaluation.folders.settings import Settings
from medfed.evaluation.summary import mean, quantiles

__all__ = ["Line", "failures", "region_names", "summarised", "values_of", "with_penalty"]


@dataclass(frozen=True, slots=True)
class Line:
    """One region and score.

    Attributes:
        region: its name.
        metric: its name.
        cases: all cases, failed ones among them.
        defined: cases with a score, infinite ones among them.
        undefined: cases in which both sides are empty.
        infinite: cases whose distance is infinite, one side being empty.
        failed: cases without a score: unreadable, on another grid, or without a prediction.
        mean_worst_case: mean with every failure at its worst.
        low: lower end of the 95 % interval of that mean, over patients.
        high: upper end.
        mean_excluding: mean of the finite scores.
        median: of the defined scores; infinite ones take part.
        q1: first quartile.
        q3: third quartile.
        minimum: lowest.
        maximum: highest.
        patients: patients behind the mean.
        outcomes: cases by the absence rule's word.
    """

    region: str
    metric: str
    cases: int
    defined: int
    undefined: int
    infinite: int
    failed: int
    mean_worst_case: float
    low: float
    high: float
    mean_excluding: float
    median: float
    q1: float
    q3: float
    minimum: float
    maximum: float
    patients: int
    outcomes: dict[str, int]


def region_names(results: Sequence[CaseResult], settings: Settings) -> list[str]:
    """Every region of any case: labels by number, then regions in the order asked for."""
    if settings.kind != "labels":
        return ["objects" if settings.kind == "instances" else "foreground"]
    named = list(settings.region_map())
    found = {name for result in results for name in result.regions} - set(named)
    found |= set(map(str, settings.labels))
    return sorted(found, key=int) + named


def failures(results: Sequence[CaseResult]) -> list[CaseResult]:
    """Cases without scores."""
    return [result for result in results if result.status != "scored"]


def values_of(results: Sequence[CaseResult], region: str, metric: Metric) -> np.ndarray:
    """(N,) the score of every case: nan where undefined, and where the case has no scores."""
    return np.array(
        [float(r.regions.get(region, {}).get(metric.name, np.nan)) for r in results], np.float64
    )


def with_penalty(
    results: Sequence[CaseResult], values: np.ndarray, metric: Metric, penalty_mm: float
) -> np.ndarray:
    """(N,) the same scores with every failure at its worst.

    Args:
        results: N cases.
        values: (N,) their scores.
        metric: which score.
        penalty_mm: of a distance; 0 for the diagonal of each image. A case whose image could not be
            read takes the longest diagonal of the others.
    """
    failed = np.array([result.status != "scored" for result in results], bool)
    if metric.unit == "share":
        return np.where(failed, 0.0, values)
    diagonals = np.array([result.diagonal for result in results], np.float64)
    known = diagonals[np.isfinite(diagonals)]
    diagonals = np.where(np.isfinite(diagonals), diagonals, known.max() if known.size else np.inf)
    penalties = np.full(len(results), penalty_mm) if penalty_mm else diagonals
    return np.where(failed | np.isposinf(values), penalties, values)


def summarised(results: Sequence[CaseResult], settings: Settings) -> list[Line]:
    """The table, by region and then by score."""
    metrics = metrics_of(settings.kind, settings.presets)
    computed = [m for m in metrics if settings.object_hausdorff or not _slow(m)]
    return [
        _line(results, region, metric, settings)
        for region in region_names(results, settings)
        for metric in computed
    ]


def _slow(metric: Metric) -> bool:
    return metric.name in ("object_hausdorff", "matched_hausdorff", "matched_dice")


def _line(results: Sequence[CaseResult], region: str, metric: Metric, settings: Settings) -> Line:
    values = values_of(results, region, metric)
    worst = with_penalty(results, values, metric, settings.penalty_mm)
    patients = np.array([result.patient for result in results])
    low, high = bootstrap_interval(worst, n=settings.bootstrap, seed=settings.seed, groups=patients)
    defined = values[~np.isnan(values)]
    minimum, q1, median, q3, maximum = quantiles(defined, (0, 0.25, 0.5, 0.75, 1))
    outcomes = _outcomes(results, region)
    failed = len(failures(results))
    return Line(
        region=region, metric=metric.name, cases=len(results), defined=int(defined.size),
        undefined=len(results) - failed - int(defined.size),
        infinite=int(np.isinf(defined).sum()), failed=failed, mean_worst_case=mean(worst),
        low=low, high=high, mean_excluding=mean(defined[np.isfinite(defined)]), median=median,
        q1=q1, q3=q3, minimum=minimum, maximum=maximum,
        patients=len(set(patients[~np.isnan(worst)].tolist())), outcomes=outcomes,
    )  # fmt: skip


def _outcomes(results: Sequence[CaseResult], region: str) -> dict[str, int]:
    words = [_outcome(result, region) for result in results]
    return {word: words.count(word) for word in OUTCOMES if word in words}


def _outcome(result: CaseResult, region: str) -> Any:  # noqa: ANN401
    if result.status != "scored":
        return "skipped"
    return result.regions.get(region, {}).get("outcome", "both_empty")
