"""Percentile bootstrap over patients.

Axes: N values or cases, G groups (patients), R resamples.
"""

import numpy as np

__all__ = ["bootstrap_interval", "resample_counts"]


def resample_counts(groups: np.ndarray, *, n: int, seed: int) -> np.ndarray:
    """How often each case is drawn when whole groups are drawn with replacement.

    Args:
        groups: (N,) group of each case, any values.
        n: R, resamples.
        seed: of the draw.

    Returns:
        (R, N) int64.
    """
    members = np.unique(groups, return_inverse=True)[1]
    count = int(members.max()) + 1
    drawn = np.random.Generator(np.random.PCG64(seed)).integers(0, count, size=(n, count))
    offsets = np.arange(n)[:, None] * count
    times = np.bincount((drawn + offsets).ravel(), minlength=n * count).reshape(n, count)
    return np.asarray(times[:, members])


def bootstrap_interval(
    values: np.ndarray,
    *,
    n: int = 1_000,
    seed: int = 0,
    alpha: float = 0.05,
    groups: np.ndarray | None = None,
) -> tuple[float, float]:
    """Interval of a mean by the percentile bootstrap.

    Args:
        values: (N,) one value a case; nan is left out.
        n: resamples.
        seed: of the draw.
        alpha: 1 minus the level of confidence.
        groups: (N,) patient of each case; each case is its own without.

    Returns:
        Low and high; nan where no value is left.

    >>> bootstrap_interval(np.ones(5))
    (1.0, 1.0)
    """
    numbers = np.asarray(values, np.float64)
    kept = ~np.isnan(numbers)
    if not kept.any():
        return float("nan"), float("nan")
    members = np.arange(len(numbers)) if groups is None else np.asarray(groups)
    times = resample_counts(members[kept], n=n, seed=seed)
    means = times @ numbers[kept] / times.sum(axis=1)
    low, high = np.quantile(means, [alpha / 2, 1 - alpha / 2])
    return float(low), float(high)
