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
    keys_pred, keys_ref = np.zeros(FIRST_SLOTS, pred.dtype), np.zeros(FIRST_SLOTS, ref.dtype)
    pixels = np.zeros(FIRST_SLOTS, np.int64)
    if not pred.size:
        return keys_pred[:0], keys_ref[:0], pixels[:0]
    one, other = pred[0], ref[0]
    used = start = 0
    for place in range(1, pred.size + 1):
        if place < pred.size and (pred[place] ^ one) | (ref[place] ^ other) == 0:
            continue
        if one | other != 0:
            slot = _slot(keys_pred, keys_ref, pixels, one, other)
            if pixels[slot] == 0:
                used += 1
                keys_pred[slot], keys_ref[slot] = one, other
            pixels[slot] += place - start
            if 2 * used > pixels.size:
                keys_pred, keys_ref, pixels = _wider(keys_pred, keys_ref, pixels)
        if place < pred.size:
            start, one, other = place, pred[place], ref[place]
    filled = np.flatnonzero(pixels)
    return keys_pred[filled], keys_ref[filled], pixels[filled]


@njit(cache=True)
def _slot(
    keys_pred: np.ndarray, keys_ref: np.ndarray, pixels: np.ndarray, one: int, other: int
) -> int:
    """Where a pair is, or may be put; the table is never full."""
    mixed = np.uint64(one) * SPREAD_PRED ^ np.uint64(other) * SPREAD_REF
    mixed ^= mixed >> np.uint64(29)
    slot = np.int64(mixed & np.uint64(pixels.size - 1))
    while pixels[slot] and (keys_pred[slot] != one or keys_ref[slot] != other):
        slot = (slot + 1) & (pixels.size - 1)
    return slot


@njit(cache=True)
def _wider(
    keys_pred: np.ndarray, keys_ref: np.ndarray, pixels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same table with four times the slots."""
    wide_pred, wide_ref = (
        np.zeros(4 * pixels.size, keys_pred.dtype),
        np.zeros(4 * pixels.size, keys_ref.dtype),
    )
    wide = np.zeros(4 * pixels.size, np.int64)
    for old in np.flatnonzero(pixels):
        slot = _slot(wide_pred, wide_ref, wide, keys_pred[old], keys_ref[old])
        wide_pred[slot], wide_ref[slot], wide[slot] = keys_pred[old], keys_ref[old], pixels[old]
    return wide_pred, wide_ref, wide
