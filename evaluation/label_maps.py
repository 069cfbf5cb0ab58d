"""Label maps of any integral type, cut to the box of their labels and read through a table.

Axes: D H W voxels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from medfed.evaluation.checks import InputError
from medfed.evaluation.masks import foreground, union_box

__all__ = ["LabelCrops", "integral", "label_crops", "region_masks"]

TABLE = 1 << 16  # labels up to here are looked up, larger ones searched


@dataclass(frozen=True, slots=True)
class LabelCrops:
    """Two label maps cut to the box that holds both.

    Attributes:
        pred: labels, axes in the order in which the reference lies in memory.
        ref: same shape.
        order: the axis of the image that each axis of the crops is.
        highest: label of either.
    """

    pred: np.ndarray
    ref: np.ndarray
    order: tuple[int, ...]
    highest: int

    def present(self) -> list[int]:
        """Labels of either map, rising, without the background."""
        found = np.union1d(self.pred, self.ref)
        return [int(label) for label in found if label]


def integral(array: np.ndarray, name: str) -> np.ndarray:
    """The same map as integers.

    Args:
        array: bool, integer, or real numbers that are whole.
        name: how an error calls it.

    Raises:
        InputError: another type, a fraction, a nan or a negative number.
    """
    if array.dtype.kind == "b":
        return array.view(np.uint8)
    if array.dtype.kind not in "uif":
        raise InputError(f"the {name} of type {array.dtype} is no label map.")
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    if native.dtype.kind == "u" or not native.size:
        return native if native.dtype.kind != "f" else native.astype(np.int64)
    low = native.min()
    if not low >= 0:
        raise InputError(f"the {name} holds {low}; labels are whole numbers from 0.")
    return native if native.dtype.kind == "i" else _whole(native, name)


def _whole(array: np.ndarray, name: str) -> np.ndarray:
    if array.max() >= 2.0**53:
        raise InputError(f"the {name} holds {array.max()}; whole real numbers end at 2^53.")
    whole = array.astype(np.int64)
    if not np.array_equal(whole, array):
        raise InputError(f"the {name} holds fractions; labels are whole numbers from 0.")
    return whole


def label_crops(pred: np.ndarray, ref: np.ndarray) -> LabelCrops:
    """Cuts two maps of one shape to the box of their labels.

    Raises:
        InputError: a map that is not integral.
    """
    box = union_box(foreground(pred), foreground(ref))
    order = tuple(sorted(range(ref.ndim), key=lambda axis: -abs(ref.strides[axis])))
    if box is None:
        box = (slice(0, 0),) * ref.ndim
    one = integral(np.ascontiguousarray(pred[box].transpose(order)), "prediction")
    other = integral(np.ascontiguousarray(ref[box].transpose(order)), "reference")
    highest = max(int(one.max()), int(other.max())) if one.size else 0
    return LabelCrops(one, other, order, highest)


def region_masks(crops: LabelCrops, members: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Both maps as masks of one region.

    Args:
        crops: two label maps.
        members: labels of the region.

    Raises:
        InputError: no label, or one that is not above 0.
    """
    if not members or min(members) < 1:
        raise InputError(f"a region of labels {tuple(members)} needs labels above 0.")
    if crops.highest >= TABLE:
        return np.isin(crops.pred, members), np.isin(crops.ref, members)
    table = np.zeros(crops.highest + 1, np.bool_)
    table[[label for label in members if label <= crops.highest]] = True
    return table[crops.pred], table[crops.ref]
