"""Pixels of each pair of ids, in numpy; kernels_instances.py is its compiled twin."""

import numpy as np

__all__ = ["pair_counts"]


def pair_counts(pred: np.ndarray, ref: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels of each pair of ids that occurs, without the pair of both backgrounds.

    Runs of equal pairs are found first, so that only runs are sorted.

    Args:
        pred: (N,) unsigned ids.
        ref: (N,) the same type.

    Returns:
        Predicted ids, reference ids, and int64 pixels, of equal length, in no particular order.
    """
    if not pred.size:
        return pred, ref, np.empty(0, np.int64)
    changed = (pred[1:] != pred[:-1]) | (ref[1:] != ref[:-1])
    starts = np.append(0, np.flatnonzero(changed) + 1)
    lengths = np.diff(starts, append=pred.size)
    run_pred, run_ref = pred[starts], ref[starts]
    filled = np.flatnonzero((run_pred != 0) | (run_ref != 0))
    filled = filled[np.lexsort((run_pred[filled], run_ref[filled]))]
    run_pred, run_ref, lengths = run_pred[filled], run_ref[filled], lengths[filled]
    if not filled.size:
        return run_pred, run_ref, lengths
    fresh = (run_pred[1:] != run_pred[:-1]) | (run_ref[1:] != run_ref[:-1])
    firsts = np.append(0, np.flatnonzero(fresh) + 1)
    return run_pred[firsts], run_ref[firsts], np.add.reduceat(lengths, firsts)
