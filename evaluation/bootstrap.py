"""Percentile bootstrap intervals; what is resampled is patients, never their images.

Axes: N cases, C labels, G patients, R resamples.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from medfed.evaluation.backend import compiled
from medfed.evaluation.checks import InputError
from medfed.evaluation.label_scores import LabelColumns, LabelScores, Uncertain, label_columns
from medfed.evaluation.summary import mean, quantiles
from medfed.seeds import generator

__all__ = ["AurocInterval", "Interval", "bootstrap_auroc", "bootstrap_interval"]

RESAMPLES = 2_000
CELLS = 4_000_000  # of a block of resamples held at once, 32 MB


class Interval(NamedTuple):
    """The two ends of an interval; nan where nothing is defined."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AurocInterval:
    """AUROC with its percentile interval, per label and for the macro mean.

    Attributes:
        scores: the AUROC of the cases as they are.
        low: (C,) lower ends.
        high: (C,) upper ends.
        macro_low: lower end of the macro mean.
        macro_high: upper end of the macro mean.
        undefined: (C,) resamples in which the label had one class only; they are left out.
    """

    scores: LabelScores
    low: np.ndarray
    high: np.ndarray
    macro_low: float
    macro_high: float
    undefined: np.ndarray


def bootstrap_interval(
    values: Any,  # noqa: ANN401
    *,
    n: int = RESAMPLES,
    seed: int = 0,
    alpha: float = 0.05,
    groups: Any = None,  # noqa: ANN401
    statistic: Callable[[np.ndarray], float] | None = None,
) -> Interval:
    """Percentile bootstrap interval of a mean, or of another statistic.

    Undefined values (nan) are left out before resampling. Infinite ones stay: a missed lesion can
    make the upper end infinite.

    Args:
        values: (N,) one score a case.
        n: how many resamples.
        seed: the same seed gives the same interval.
        alpha: 0.05 for a 95 % interval.
        groups: (N,) the patient of each case; whole patients are drawn. None: each case is its own.
        statistic: of a resample's values; None for the mean, which is quicker.

    Raises:
        InputError: not one row of numbers, n below 1 or alpha outside (0, 1).

    Source: Efron and Tibshirani 1993, section 13.3.
    """
    numbers, members = _cases(values, groups)
    _check_draws(n, alpha)
    kept = ~np.isnan(numbers)
    numbers, members = numbers[kept], members[kept]
    if not numbers.size:
        return Interval(float("nan"), float("nan"))
    members = np.unique(members, return_inverse=True)[1]
    rng = generator(seed, "bootstrap")
    drawn = _means if statistic is None else _statistics(statistic)
    low, high = quantiles(drawn(numbers, members, n, rng), (alpha / 2, 1 - alpha / 2))
    return Interval(low, high)


def bootstrap_auroc(
    scores: Any,  # noqa: ANN401
    targets: Any,  # noqa: ANN401
    *,
    patients: Any = None,  # noqa: ANN401
    n: int = RESAMPLES,
    seed: int = 0,
    alpha: float = 0.05,
    uncertain: Uncertain = "ignore",
) -> AurocInterval:
    """AUROC with percentile bootstrap intervals over patients.

    One draw of patients serves every label, so the macro mean's interval holds their dependence.
    A resample in which a label has one class only is left out for that label.

    Args:
        scores: (N,) or (N, C), higher means more likely.
        targets: same shape: 1, 0, nan for not labelled, -1 for uncertain.
        patients: (N,) the patient of each case; None: each case is its own.
        n: how many resamples.
        seed: the same seed gives the same interval.
        alpha: 0.05 for a 95 % interval.
        uncertain: as in auroc.

    Raises:
        InputError: as in auroc; n below 1 or alpha outside (0, 1).
    """
    from medfed.evaluation.classification import auroc

    columns = label_columns(scores, targets, uncertain=uncertain)
    _check_draws(n, alpha)
    cases = len(columns.scores)
    _, members = _cases(np.zeros(cases), patients)
    rng = generator(seed, "bootstrap")
    drawn = (
        _auroc_draws(columns, members, n, rng)
        if cases
        else np.full((n, columns.scores.shape[1]), np.nan)
    )
    ends = (alpha / 2, 1 - alpha / 2)
    bounds = np.array([quantiles(drawn[:, c], ends) for c in range(drawn.shape[1])]).reshape(-1, 2)
    macro = quantiles(np.array([mean(row) for row in drawn]), ends)
    undefined = np.isnan(drawn).sum(axis=0)
    result = auroc(scores, targets, uncertain=uncertain)
    return AurocInterval(result, bounds[:, 0], bounds[:, 1], macro[0], macro[1], undefined)


def _cases(values: Any, groups: Any) -> tuple[np.ndarray, np.ndarray]:  # noqa: ANN401
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise InputError(f"values {numbers.shape} must be one row: one score a case.")
    if groups is None:
        return numbers, np.arange(numbers.size)
    members = np.asarray(groups)
    if members.shape != numbers.shape:
        raise InputError(
            f"groups {members.shape} must name a patient for each of {numbers.size} cases."
        )
    return numbers, np.unique(members, return_inverse=True)[1]


def _check_draws(n: int, alpha: float) -> None:
    if n < 1:
        raise InputError(f"n={n} resamples: at least 1 is needed.")
    if not 0 < alpha < 1:
        raise InputError(f"alpha={alpha} must lie between 0 and 1.")


def _means(
    numbers: np.ndarray, members: np.ndarray, n: int, rng: np.random.Generator
) -> np.ndarray:
    """(R,) mean of each resample, from each patient's sum and count."""
    sums, counts = np.bincount(members, weights=numbers), np.bincount(members)
    means = np.empty(n)
    block = max(1, CELLS // len(sums))
    with np.errstate(invalid="ignore"):
        for start in range(0, n, block):
            chosen = rng.integers(0, len(sums), size=(min(block, n - start), len(sums)))
            means[start : start + block] = sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1)
    return means


def _statistics(
    statistic: Callable[[np.ndarray], float],
) -> Callable[[np.ndarray, np.ndarray, int, np.random.Generator], np.ndarray]:
    def drawn(
        numbers: np.ndarray, members: np.ndarray, n: int, rng: np.random.Generator
    ) -> np.ndarray:
        order = np.argsort(members, kind="stable")
        of_patient = np.split(numbers[order], np.cumsum(np.bincount(members))[:-1])
        results = np.empty(n)
        for r in range(n):
            chosen = rng.integers(0, len(of_patient), size=len(of_patient))
            results[r] = statistic(np.concatenate([of_patient[g] for g in chosen]))
        return results

    return drawn


def _auroc_draws(
    columns: LabelColumns, members: np.ndarray, n: int, rng: np.random.Generator
) -> np.ndarray:
    """(R, C) AUROC of each resample; nan where one class alone was drawn."""
    drawn = np.full((n, columns.scores.shape[1]), np.nan)
    if not members.size:
        return drawn
    ranked = [_ranked(columns, members, c) for c in range(drawn.shape[1])]
    if compiled():
        from medfed.evaluation.kernels_auroc import weighted_auroc
    else:
        from medfed.evaluation.weighted_auroc import weighted_auroc  # type: ignore[assignment]
    patients = int(members.max()) + 1
    block = max(1, CELLS // max(patients, len(members)))
    for start in range(0, n, block):
        size = min(block, n - start)
        chosen = rng.integers(0, patients, size=(size, patients))
        chosen += patients * np.arange(size)[:, None]
        times = np.bincount(chosen.ravel(), minlength=size * patients).reshape(size, patients)
        for c, (patient, positive, tie) in enumerate(ranked):
            drawn[start : start + size, c] = weighted_auroc(times, patient, positive, tie)
    return drawn


def _ranked(
    columns: LabelColumns, members: np.ndarray, c: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Known cases of label c by rising score: patient, positive, and whether a tie ends there."""
    known = np.flatnonzero(columns.targets[:, c] >= 0)
    rising = known[np.argsort(columns.scores[known, c], kind="stable")]
    last_of_tie = np.append(np.diff(columns.scores[rising, c]) != 0, True)[: rising.size]
    return members[rising], columns.targets[rising, c] == 1, last_of_tie
