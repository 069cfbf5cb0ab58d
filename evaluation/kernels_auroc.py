"""AUROC of resamples, compiled; weighted_auroc.py is its numpy twin.

Axes: R resamples, G patients, M known cases of one label by rising score.
"""

import numpy as np
from numba import njit

__all__ = ["weighted_auroc"]


@njit(cache=True)
def weighted_auroc(
    times: np.ndarray, patient: np.ndarray, positive: np.ndarray, last_of_tie: np.ndarray
) -> np.ndarray:
    """AUROC where each case counts as often as its patient was drawn; see the numpy twin."""
    scores = np.full(times.shape[0], np.nan)
    for r in range(times.shape[0]):
        below = hits = misses = twice_won = all_hits = 0
        for m in range(patient.size):
            weight = times[r, patient[m]]
            if positive[m]:
                hits += weight
            else:
                misses += weight
            if last_of_tie[m]:
                twice_won += hits * (2 * below + misses)
                all_hits += hits
                below += misses
                hits = misses = 0
        if all_hits * below > 0:
            scores[r] = twice_won / (2 * all_hits * below)
    return scores
