"""Pixels of each pair of ids, compiled; instances_numpy.py is its numpy twin."""

import numpy as np
from numba import njit

__all__ = ["pair_counts"]

FIRST_SLOTS = 4096
SPREAD_PRED = np.uint64(
    0x9E3779B97F4A7C15
)  # odd numbers with well mixed bits (2^64 / golden ratio)
SPREAD_REF = np.uint64(0xC2B2AE3D27D4EB4F)


@njit(cache=True)
def pair_counts(pred: np.ndarray, ref: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pixels of each pair of ids that occurs, without the pair of both backgrounds.

    Runs of equal pairs are counted first; one look into a hash table follows for each run.

    Args:
        pred: (N,) unsigned ids, contiguous.
        ref: (N,) the same type.

    Returns:
        Predicted ids, reference ids, and int64 pixels, of equal length, in no particular order.
    """
    # A slot holds both ids and the pixels side by side, so that a look costs one line of memory.
    table = np.zeros((FIRST_SLOTS, 3), np.uint64)
    if not pred.size:
        return pred[:0].copy(), ref[:0].copy(), np.empty(0, np.int64)
    one, other = pred[0], ref[0]
    used = start = 0
    for place in range(1, pred.size + 1):
        if place < pred.size and (pred[place] ^ one) | (ref[place] ^ other) == 0:
            continue
        if one | other != 0:
            slot = _slot(table, np.uint64(one), np.uint64(other))
            if table[slot, 2] == 0:
                used += 1
                table[slot, 0], table[slot, 1] = one, other
            table[slot, 2] += np.uint64(place - start)
            if 3 * used > 2 * len(table):
                table = _wider(table)
        if place < pred.size:
            start, one, other = place, pred[place], ref[place]
    filled = table[np.flatnonzero(table[:, 2])]
    ids = filled[:, 0].astype(pred.dtype), filled[:, 1].astype(ref.dtype)
    return ids[0], ids[1], filled[:, 2].astype(np.int64)


@njit(cache=True)
def _slot(table: np.ndarray, one: int, other: int) -> int:
    """Where a pair is, or may be put; the table is never full."""
    mixed = one * SPREAD_PRED ^ other * SPREAD_REF
    mixed ^= mixed >> np.uint64(29)
    last = np.uint64(len(table) - 1)
    slot = mixed & last
    while table[slot, 2] != 0 and (table[slot, 0] != one or table[slot, 1] != other):
        slot = (slot + np.uint64(1)) & last
    return slot


@njit(cache=True)
def _wider(table: np.ndarray) -> np.ndarray:
    """The same table with four times the slots."""
    wide = np.zeros((4 * len(table), 3), np.uint64)
    for old in np.flatnonzero(table[:, 2]):
        wide[_slot(wide, table[old, 0], table[old, 1])] = table[old]
    return wide
