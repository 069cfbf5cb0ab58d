"""Two instance maps as one sparse table: which objects meet, and in how many pixels.

Every instance score is computed from this table, so the images are read once.

Axes: P predicted objects, R reference objects, K pairs that overlap.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from medfed.evaluation.absence import Outcome, outcome
from medfed.evaluation.backend import compiled
from medfed.evaluation.checks import same_shape
from medfed.evaluation.label_maps import integral
from medfed.evaluation.masks import read_only

__all__ = ["Contingency", "contingency", "instance_maps"]


@dataclass(frozen=True, slots=True)
class Contingency:
    """Objects by rising id, and the pairs that overlap, by reference and then prediction.

    Attributes:
        pred_ids: (P,) ids as they stand in the map.
        ref_ids: (R,) ids.
        pred_areas: (P,) int64 pixels.
        ref_areas: (R,) int64 pixels.
        pred: (K,) place of the pair's prediction in pred_ids.
        ref: (K,) place of the pair's reference in ref_ids.
        overlap: (K,) int64 pixels in both.
    """

    pred_ids: np.ndarray
    ref_ids: np.ndarray
    pred_areas: np.ndarray
    ref_areas: np.ndarray
    pred: np.ndarray
    ref: np.ndarray
    overlap: np.ndarray

    @property
    def outcome(self) -> Outcome:
        """The absence rule's word."""
        return outcome(self.pred_ids.size, self.ref_ids.size)

    def iou(self) -> np.ndarray:
        """(K,) intersection over union of each pair."""
        return np.asarray(self.overlap / self.union())

    def union(self) -> np.ndarray:
        """(K,) pixels in either object of each pair."""
        return np.asarray(self.pred_areas[self.pred] + self.ref_areas[self.ref] - self.overlap)

    def dice(self) -> np.ndarray:
        """(K,) Dice of each pair."""
        return np.asarray(
            2 * self.overlap / (self.pred_areas[self.pred] + self.ref_areas[self.ref])
        )


def instance_maps(pred: Any, ref: Any) -> tuple[np.ndarray, np.ndarray]:  # noqa: ANN401
    """Both maps as integers of one type and one memory order.

    Args:
        pred: instance map: 0 is background; ids may have gaps and be as large as the type allows.
        ref: same shape.

    Raises:
        InputError: shapes differ, or an id is negative or a fraction.
    """
    one, other = integral(np.asarray(pred), "prediction"), integral(np.asarray(ref), "reference")
    same_shape(one, other)
    wide = f"u{max(4, one.dtype.itemsize, other.dtype.itemsize)}"
    # No id is negative, so the same bytes are the same unsigned number.
    one, other = one.view(f"u{one.dtype.itemsize}"), other.view(f"u{other.dtype.itemsize}")
    return read_only(one.astype(wide, copy=False)), read_only(other.astype(wide, copy=False))


def contingency(pred: Any, ref: Any) -> Contingency:  # noqa: ANN401
    """The sparse table of two instance maps; arguments as in instance_maps."""
    one, other = instance_maps(pred, ref)
    order: Literal["F", "C"] = "F" if one.flags.f_contiguous and other.flags.f_contiguous else "C"
    flat, other_flat = one.ravel(order), other.ravel(order)
    if compiled():
        from medfed.evaluation.kernels_instances import pair_counts
    else:
        from medfed.evaluation.instances_numpy import pair_counts  # type: ignore[assignment]
    return _table(*pair_counts(flat, other_flat))


def _table(pred: np.ndarray, ref: np.ndarray, pixels: np.ndarray) -> Contingency:
    """From the pixels of each pair of ids, the background's included."""
    pred_ids, pred_place = np.unique(pred, return_inverse=True)
    ref_ids, ref_place = np.unique(ref, return_inverse=True)
    pred_areas = _sums(pred_place, pixels, pred_ids.size)
    ref_areas = _sums(ref_place, pixels, ref_ids.size)
    skip_pred, skip_ref = int(0 in pred_ids[:1]), int(0 in ref_ids[:1])
    both = np.flatnonzero((pred != 0) & (ref != 0))
    both = both[np.lexsort((pred_place[both], ref_place[both]))]
    return Contingency(
        pred_ids[skip_pred:], ref_ids[skip_ref:], pred_areas[skip_pred:], ref_areas[skip_ref:],
        pred_place[both] - skip_pred, ref_place[both] - skip_ref, pixels[both],
    )  # fmt: skip


def _sums(places: np.ndarray, pixels: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(places, weights=pixels, minlength=size).astype(np.int64)
