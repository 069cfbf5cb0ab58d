"""AUROC of resamples, in numpy; kernels_auroc.py is its compiled twin.

Axes: R resamples, G patients, M known cases of one label by rising score.
"""

import numpy as np

__all__ = ["weighted_auroc"]


def weighted_auroc(
    times: np.ndarray, patient: np.ndarray, positive: np.ndarray, last_of_tie: np.ndarray
) -> np.ndarray:
    """AUROC where each case counts as often as its patient was drawn.

    Args:
        times: (R, G) how often a resample drew each patient.
        patient: (M,) patient of each case.
        positive: (M,) bool.
        last_of_tie: (M,) bool, whether the next score is higher.

    Returns:
        (R,) nan where a resample holds one class only.
    """
    weights = times[:, patient]
    ends = np.flatnonzero(last_of_tie)
    hits = np.diff(np.cumsum(weights * positive, axis=1)[:, ends], axis=1, prepend=0)
    misses_up_to = np.cumsum(weights * ~positive, axis=1)[:, ends]
    misses = np.diff(misses_up_to, axis=1, prepend=0)
    twice_won = (hits * (2 * misses_up_to - misses)).sum(axis=1)
    pairs = hits.sum(axis=1) * misses.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(pairs > 0, twice_won / (2 * pairs), np.nan))
