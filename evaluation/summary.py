"""Many scores become a few numbers, and what is absent is counted beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medfed.evaluation.checks import InputError

__all__ = ["Summary", "mean", "quantiles", "summarise"]


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers of a list of scores; nan where nothing is defined.

    Infinite scores (a missed or invented object) take part in `mean`, the quartiles and the
    ends, so they cannot vanish; `finite_mean` leaves them out, and `missed` counts them.

    Attributes:
        n: scores given.
        defined: scores that are not nan.
        undefined: scores that are nan (both sides empty, or not labelled).
        missed: scores that are infinite.
        mean: of the defined scores.
        std: of the defined scores, over n - 1; nan for fewer than two, or with an infinite one.
        median: of the defined scores.
        q1: first quartile.
        q3: third quartile.
        minimum: lowest.
        maximum: highest.
        finite_mean: mean of the finite scores.
        penalised_mean: mean with infinite scores replaced by the penalty; nan without a penalty.
    """

    n: int
    defined: int
    undefined: int
    missed: int
    mean: float
    std: float
    median: float
    q1: float
    q3: float
    minimum: float
    maximum: float
    finite_mean: float
    penalised_mean: float


def summarise(values: Any, *, penalty: float | None = None) -> Summary:  # noqa: ANN401
    """Mean, spread and quartiles of scores, with the absent ones counted.

    Args:
        values: (N,) one score a case; nan is undefined, inf a miss.
        penalty: what an infinite score counts in `penalised_mean`, in the scores' unit.

    Raises:
        InputError: not one row of numbers.

    >>> summary = summarise([1.0, 3.0, float("inf"), float("nan")], penalty=374.0)
    >>> summary.n, summary.undefined, summary.missed, summary.finite_mean, summary.penalised_mean
    (4, 1, 1, 2.0, 126.0)
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1:
        raise InputError(f"values {numbers.shape} must be one row: one score a case.")
    defined = numbers[~np.isnan(numbers)]
    finite = defined[np.isfinite(defined)]
    minimum, q1, median, q3, maximum = quantiles(defined, (0, 0.25, 0.5, 0.75, 1))
    spread = defined.size > 1 and finite.size == defined.size
    penalised = np.nan if penalty is None else mean(np.where(np.isinf(defined), penalty, defined))
    return Summary(
        n=numbers.size, defined=defined.size, undefined=numbers.size - defined.size,
        missed=defined.size - finite.size, mean=mean(defined),
        std=float(defined.std(ddof=1)) if spread else float("nan"),
        median=median, q1=q1, q3=q3, minimum=minimum, maximum=maximum,
        finite_mean=mean(finite), penalised_mean=float(penalised),
    )  # fmt: skip


def mean(values: np.ndarray) -> float:
    """Mean of what is not nan; nan where nothing is, inf with one infinite value."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


def quantiles(values: np.ndarray, shares: Sequence[float]) -> list[float]:
    """Quantiles of what is not nan, linearly interpolated; next to infinity, infinity.

    Args:
        values: (N,) may hold inf and nan.
        shares: in [0, 1].
    """
    ranked = np.sort(values[~np.isnan(values)])
    if not ranked.size:
        return [float("nan")] * len(shares)
    return [_quantile(ranked, share) for share in shares]


def _quantile(ranked: np.ndarray, share: float) -> float:
    place = share * (ranked.size - 1)
    below = min(int(place), ranked.size - 1)
    above = min(below + 1, ranked.size - 1)
    part = place - below
    if part == 0 or ranked[below] == ranked[above]:
        return float(ranked[below])
    if np.isneginf(ranked[below]):
        return float("-inf")
    return float(ranked[below] + part * (ranked[above] - ranked[below]))
