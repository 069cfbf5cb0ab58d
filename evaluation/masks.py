"""Binary masks of any dtype and memory layout, cut to the box that holds both.

Axes: D H W voxels of a mask, padded to three with leading axes of one.
"""

from typing import Any

import numpy as np

from medfed.evaluation.backend import compiled
from medfed.evaluation.checks import InputError, same_shape

__all__ = ["Box", "box_of", "foreground", "mask_pair", "read_only", "union_box"]

Box = tuple[slice, ...]
_WORDS: dict[int, type[np.unsignedinteger[Any]]] = {
    1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64,
}  # fmt: skip


def foreground(array: Any) -> np.ndarray:  # noqa: ANN401
    """The mask as unsigned integers, non-zero in the foreground; a view wherever that is possible.

    Args:
        array: bool, integer or real numbers; any layout.

    Raises:
        InputError: other types, or nan in a floating mask.
    """
    mask = np.asarray(array)
    if mask.dtype.kind in "bui":
        native = mask if mask.dtype.isnative else mask.astype(mask.dtype.newbyteorder("="))
        return read_only(native.view(_WORDS[native.dtype.itemsize]))
    if mask.dtype.kind != "f":
        raise InputError(f"a mask of type {mask.dtype} is neither bool, integer nor real.")
    if mask.size and np.isnan(mask.min()):
        raise InputError("a mask holds nan; say which side of the border those voxels are.")
    return read_only((mask != 0).view(np.uint8))


def read_only(array: np.ndarray) -> np.ndarray:
    """A view that cannot be written, so that kernels are compiled for one kind of array alone."""
    view = np.asarray(array.view())
    view.flags.writeable = False
    return view


def mask_pair(pred: Any, ref: Any) -> tuple[np.ndarray, np.ndarray]:  # noqa: ANN401
    """Both masks as unsigned integers of one shape.

    Raises:
        InputError: shapes or types that cannot be scored.
    """
    pred, ref = foreground(pred), foreground(ref)
    same_shape(pred, ref)
    return pred, ref


def union_box(pred: np.ndarray, ref: np.ndarray) -> Box | None:
    """The smallest box that holds the foreground of both; None where both are empty."""
    first, second = box_of(pred), box_of(ref)
    if first is None or second is None:
        return first or second
    return tuple(
        slice(min(a.start, b.start), max(a.stop, b.stop))
        for a, b in zip(first, second, strict=True)
    )


def box_of(mask: np.ndarray) -> Box | None:
    """The smallest box that holds the foreground; None where there is none.

    Args:
        mask: unsigned integers. C- and Fortran-ordered arrays and their flips are read in the order
            in which they lie in memory.
    """
    order = sorted(range(mask.ndim), key=lambda axis: -abs(mask.strides[axis]))
    turned = tuple(slice(None, None, -1) if s < 0 else slice(None) for s in mask.strides)
    lying = mask[turned].transpose(order)
    bounds = _bounds(lying)
    if bounds is None:
        return None
    box = [slice(0, 0)] * mask.ndim
    for (start, stop), axis in zip(bounds, order, strict=True):
        size = mask.shape[axis]
        forward = mask.strides[axis] >= 0
        box[axis] = slice(start, stop) if forward else slice(size - stop, size - start)
    return tuple(box)


def _bounds(lying: np.ndarray) -> list[tuple[int, int]] | None:
    if not lying.size:
        return None
    if lying.ndim != 3 or not lying.flags.c_contiguous:
        return _rows_bounds(lying)
    # Slices first: a maximum over contiguous bytes runs at the speed of memory.
    filled = np.flatnonzero(lying.reshape(len(lying), -1).max(axis=1))
    if not filled.size:
        return None
    start, stop = int(filled[0]), int(filled[-1]) + 1
    rows = _rows_bounds(lying[start:stop])
    return rows and [(start, stop), *rows[1:]]


def _rows_bounds(lying: np.ndarray) -> list[tuple[int, int]] | None:
    if not (compiled() and lying.flags.c_contiguous and lying.ndim <= 3):
        return _bounds_numpy(lying)
    from medfed.evaluation.kernels_mask import bounds

    # Wider types would each be compiled anew; what is left of the image here is small.
    bytes_ = lying if lying.dtype == np.uint8 else read_only((lying != 0).view(np.uint8))
    found = bounds(bytes_.reshape((1,) * (3 - lying.ndim) + lying.shape))
    if found[0] > found[1]:
        return None
    pairs = [(found[2 * a], found[2 * a + 1] + 1) for a in range(3)]
    return pairs[3 - lying.ndim :]


def _bounds_numpy(lying: np.ndarray) -> list[tuple[int, int]] | None:
    filled = lying != 0
    found = []
    for axis in range(lying.ndim):
        others = tuple(a for a in range(lying.ndim) if a != axis)
        places = np.flatnonzero(filled.any(axis=others))
        if not places.size:
            return None
        found.append((int(places[0]), int(places[-1]) + 1))
    return found
