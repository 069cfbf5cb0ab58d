"""Level indices as few bytes. Axes: N cases, C classes; one class after the other (class-major).

An index of S levels takes b = ceil(log2 S) bits. It is cut into planes of 8 bits, the low one
first, and each plane is written for all indices before the next. Two encodings of the planes:

- `bits`: the last plane keeps only the bits it uses; ceil(N C b / 8) bytes in all. In it, index i
  has bits i w to (i + 1) w - 1 of the plane, w bits wide, least significant first.
- `huffman`: a zlib stream of the planes, one byte an entry, made with Huffman codes alone, about one
  code a class. Logits crowd around a few levels, so this is often the shorter one.

`float32` (S = 0) is no quantisation at all: little-endian float32, class-major.
"""

import math
import zlib

import numpy as np
from numpy.typing import NDArray

from medfed.algorithms import deflate
from medfed.errors import WireError

__all__ = ["pack", "pack_floats", "packed_bytes", "unpack", "unpack_floats"]

Bytes = NDArray[np.uint8]

_ROWS = 4096  # cases turned to class-major at a time: they stay in a core's cache
_FEWEST, _MOST = 1 << 15, 1 << 17  # entries that share a Huffman code
_MAX_LEVELS = 1 << 24


def packed_bytes(cases: int, classes: int, levels: int) -> int:
    """Bytes of the `bits` encoding, or of float32 for levels 0."""
    return 4 * cases * classes if levels == 0 else math.ceil(cases * classes * _bits(levels) / 8)


def pack(indices: NDArray[np.integer], *, levels: int) -> tuple[Bytes, str]:
    """The shorter encoding of the indices.

    Args:
        indices: (N, C) integers in 0..S-1.
        levels: S, 2 or more.

    Returns:
        (B,) uint8 and its encoding, `bits` or `huffman`.

    Raises:
        WireError: an index is outside 0..S-1.
    """
    planes = _planes(indices, levels)
    cases, classes = indices.shape
    entries = planes.reshape(-1)
    if entries.size:
        coding = deflate.plan(entries, block=_block(cases))
        if coding.size < packed_bytes(cases, classes, levels):
            return deflate.write(entries, coding), "huffman"
    return _pack_planes(planes, levels), "bits"


def unpack(
    packed: Bytes, encoding: str, *, cases: int, classes: int, levels: int
) -> NDArray[np.integer]:
    """The indices that `pack` was given; the sizes are checked before anything is allocated.

    Args:
        packed: (B,) uint8.
        encoding: `bits` or `huffman`.
        cases: N.
        classes: C.
        levels: S.

    Returns:
        (N, C) uint8 up to 256 levels, else int32.

    Raises:
        WireError: the bytes are not N x C indices below S in that encoding.
    """
    size, width = _size(cases, classes), _bits(levels)
    _check_vector(packed)
    depth = math.ceil(width / 8)
    if encoding == "bits":
        if packed.size != packed_bytes(cases, classes, levels):
            raise WireError("Packed logits have the wrong length for their cases and classes.")
        planes: Bytes = _unpack_planes(packed, size, width)
    elif encoding == "huffman":
        planes = _inflate(packed, size * depth).reshape(depth, size)
    else:
        raise WireError("Packed logits have an unknown encoding.")
    return _from_planes(planes, cases, classes, levels)


def pack_floats(logits: NDArray[np.float32]) -> tuple[Bytes, str]:
    """(N, C) float32 logits as class-major little-endian bytes, encoding `float32`."""
    ordered = np.ascontiguousarray(logits.T, dtype="<f4")
    return ordered.reshape(-1).view(np.uint8), "float32"


def unpack_floats(packed: Bytes, encoding: str, *, cases: int, classes: int) -> NDArray[np.float32]:
    """The (N, C) float32 logits that `pack_floats` was given; they may hold NaN, as they came."""
    size = _size(cases, classes)
    _check_vector(packed)
    if encoding != "float32" or packed.size != 4 * size:
        raise WireError("Float logits have the wrong encoding or length.")
    values = np.ascontiguousarray(packed).view("<f4").reshape(classes, cases)
    return np.ascontiguousarray(values.T, dtype=np.float32)


def _bits(levels: int) -> int:
    if not 2 <= levels <= _MAX_LEVELS:
        raise WireError(f"levels is {levels}; packing takes 2 to {_MAX_LEVELS}.")
    return (levels - 1).bit_length()


def _size(cases: int, classes: int) -> int:
    if cases < 0 or classes < 1:
        raise WireError("Packed logits need 0 or more cases and 1 or more classes.")
    return cases * classes


def _check_vector(packed: Bytes) -> None:
    if packed.ndim != 1 or packed.dtype != np.uint8:
        raise WireError("Packed logits must be a vector of bytes.")


def _planes(indices: NDArray[np.integer], levels: int) -> Bytes:
    """(D, N C) uint8: the indices class-major, cut into D planes of 8 bits."""
    cases, classes = indices.shape
    depth = math.ceil(_bits(levels) / 8)
    planes = np.empty((depth, classes, cases), dtype=np.uint8)
    for start in range(0, cases, _ROWS):
        block = indices[start : start + _ROWS]
        if block.size and (block.min() < 0 or block.max() >= levels):
            raise WireError("An index to pack is outside its levels.")
        for plane in range(depth):
            low = (block >> (8 * plane) if plane else block).astype(np.uint8)
            planes[plane, :, start : start + _ROWS] = low.T
    return planes.reshape(depth, classes * cases)


def _from_planes(planes: Bytes, cases: int, classes: int, levels: int) -> NDArray[np.integer]:
    joined: NDArray[np.integer] = planes[0]
    if len(planes) > 1:
        joined = joined.astype(np.int32)
        for place, plane in enumerate(planes[1:], start=1):
            joined |= plane.astype(np.int32) << (8 * place)
    if joined.size and joined.max() >= levels:
        raise WireError("Packed logits hold an index outside their levels.")
    table = joined.reshape(classes, cases)
    indices = np.empty((cases, classes), dtype=joined.dtype)
    for start in range(0, cases, _ROWS):
        indices[start : start + _ROWS] = table[:, start : start + _ROWS].T
    return indices


def _pack_planes(planes: Bytes, levels: int) -> Bytes:
    last = _bits(levels) - 8 * (len(planes) - 1)
    return np.concatenate([planes[:-1].reshape(-1), _narrow(planes[-1], last)])


def _unpack_planes(packed: Bytes, size: int, width: int) -> Bytes:
    depth = math.ceil(width / 8)
    planes = np.empty((depth, size), dtype=np.uint8)
    whole = (depth - 1) * size
    planes[:-1] = packed[:whole].reshape(depth - 1, size)
    planes[-1] = _widen(packed[whole:], size, width - 8 * (depth - 1))
    return planes


def _narrow(plane: Bytes, width: int) -> Bytes:
    """Bytes of `width` used bits each, joined: 8 of them become `width` bytes.

    Neighbours join in pairs: into 16-bit words, these into 32-bit and then 64-bit words.
    """
    if width == 8:
        return plane
    used = math.ceil(plane.size * width / 8)
    words = np.zeros(math.ceil(plane.size / 8) * 8, dtype=np.uint8)
    words[: plane.size] = plane
    out = np.empty((words.size // 8, width), dtype=np.uint8)
    for start in range(0, len(out), _ROWS):
        block = words[8 * start : 8 * (start + _ROWS)]
        for kind, low in (("<u2", 8), ("<u4", 16), ("<u8", 32)):
            pair = block.view(kind)
            gap = low - low // 8 * width  # unused bits between the two neighbours
            block = ((pair >> low << (low - gap)) | (pair & ((1 << low) - 1))).view(np.uint8)
        out[start : start + _ROWS] = block.reshape(-1, 8)[:, :width]
    return out.reshape(-1)[:used]


def _widen(packed: Bytes, size: int, width: int) -> Bytes:
    """The inverse of `_narrow`."""
    if width == 8:
        return packed
    groups = math.ceil(size / 8)
    padded = np.zeros(groups * width, dtype=np.uint8)
    padded[: packed.size] = packed
    table = padded.reshape(groups, width)
    out = np.empty((groups, 8), dtype=np.uint8)
    for start in range(0, groups, _ROWS):
        rows = table[start : start + _ROWS]
        spread = np.zeros((len(rows), 8), dtype=np.uint8)
        spread[:, :width] = rows
        block: Bytes = spread.reshape(-1)
        for kind, low in (("<u8", 32), ("<u4", 16), ("<u2", 8)):
            pair = block.view(kind)
            part = low // 8 * width  # bits of each of the two neighbours
            block = ((pair >> part << low) | (pair & ((1 << part) - 1))).view(np.uint8)
        out[start : start + _ROWS] = block.reshape(-1, 8)
    return out.reshape(-1)[:size]


def _block(cases: int) -> int:
    """Entries that share a code: one class, some small ones, or a part of a huge one."""
    return min(max(math.ceil(_FEWEST / cases), 1) * cases, _MOST)


def _inflate(packed: Bytes, size: int) -> Bytes:
    """Exactly `size` bytes out of a zlib stream; never allocates much more."""
    if size > 8 * packed.size:  # a Huffman code has at least one bit an entry
        raise WireError("Packed logits are too short for their cases and classes.")
    decoder = zlib.decompressobj()
    try:
        entries = decoder.decompress(np.ascontiguousarray(packed).data, size + 1)
    except zlib.error as error:
        raise WireError("Packed logits are not a valid stream.") from error
    if len(entries) != size or not decoder.eof or decoder.unused_data:
        raise WireError("Packed logits do not end where they should.")
    return np.frombuffer(entries, dtype=np.uint8)
