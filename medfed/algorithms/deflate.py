"""Bytes to a zlib stream of Huffman codes alone, made faster than zlib makes one.

Any zlib reads the stream (RFC 1950 and 1951, dynamic Huffman blocks without matches). Long inputs
are coded by compiled loops, short ones without waiting for a compiler; both give the same bytes.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medfed.algorithms import huffman
from medfed.algorithms.huffman import END, FIELDS, Table

__all__ = ["Plan", "plan", "write"]

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]

_FRAME = 2 + 4  # a zlib stream's first bytes and its checksum
_CHUNK = 1 << 14  # entries coded at a time by numpy: they stay in a core's cache
_COMPILE_FROM = 1 << 18  # entries; below, the compiled loops save less than they take to load


class _Loops(NamedTuple):
    """The three loops over entries and symbols, compiled or not."""

    tally: Callable[[Bytes], Table]
    code_block: Callable[[Table, Table, Table, Table, bool], int]
    emit: Callable[[Bytes, Table, Table, Words, int], int]


@dataclass(frozen=True, slots=True)
class _Block:
    """Where a block ends, its codes (257,) and their bits (257,), its header, and all its bits."""

    end: int
    codes: Table
    lengths: Table
    header: int
    header_bits: int
    bits: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How entries will be coded, and in how many bytes."""

    blocks: tuple[_Block, ...]
    size: int
    compiled: bool


def plan(entries: Bytes, *, block: int, compiled: bool | None = None) -> Plan:
    """The codes for some bytes; none is coded yet.

    Args:
        entries: (E,), one or more.
        block: entries that share one code; its description takes about 100 bytes.
        compiled: use the compiled loops; by default for long inputs only.
    """
    if compiled is None:
        compiled = len(entries) >= _COMPILE_FROM
    loops = _loops(compiled)
    blocks = tuple(
        _planned(entries, start, min(start + block, len(entries)), loops)
        for start in range(0, len(entries), block)
    )
    bits = sum(planned.bits for planned in blocks)
    return Plan(blocks, _FRAME + -(-bits // 8), compiled)


def write(entries: Bytes, coding: Plan) -> Bytes:
    """The stream that `plan` foresaw for the same entries."""
    emit = _loops(coding.compiled).emit
    words = np.zeros(coding.size // 8 + 3, dtype=np.uint64)
    position, start = 0, 0
    for block in coding.blocks:
        position = _put(words, position, block.header, block.header_bits)
        position = emit(entries[start : block.end], block.codes, block.lengths, words, position)
        position = _put(words, position, int(block.codes[END]), int(block.lengths[END]))
        start = block.end
    stream = np.empty(coding.size, dtype=np.uint8)
    stream[:2] = 0x78, 0x01
    stream[2:-4] = words.astype("<u8", copy=False).view(np.uint8)[: coding.size - _FRAME]
    stream[-4:] = np.frombuffer(zlib.adler32(entries.data).to_bytes(4, "big"), dtype=np.uint8)
    return stream


def _planned(entries: Bytes, start: int, end: int, loops: _Loops) -> _Block:
    counts = loops.tally(entries[start:end])
    counts[END] = 1
    lengths, codes = np.zeros(END + 1, dtype=np.int64), np.zeros(END + 1, dtype=np.int64)
    fields = np.zeros((FIELDS, 2), dtype=np.int64)
    used = np.flatnonzero(counts)
    keys = np.sort(counts[used] * huffman.SPREAD + used)
    size = loops.code_block(keys, lengths, codes, fields, end == len(entries))
    header = place = 0
    for value, width in fields[:size].tolist():
        header |= value << place
        place += width
    return _Block(end, codes, lengths, header, place, place + int(counts @ lengths))


def _put(words: Words, position: int, value: int, width: int) -> int:
    """Writes a number of `width` bits at a bit position; returns the next position."""
    value <<= position % 64
    for word in range(position // 64, (position + width) // 64 + 1):
        words[word] |= np.uint64(value & 0xFFFF_FFFF_FFFF_FFFF)
        value >>= 64
    return position + width


def _loops(compiled: bool) -> _Loops:
    if not compiled:
        return _Loops(_count, huffman.code_block, _emit)
    return _Loops(huffman.count_compiled, huffman.code_block_compiled, huffman.emit_compiled)


def _count(entries: Bytes) -> Table:
    return np.bincount(entries, minlength=END + 1)


def _emit(entries: Bytes, codes: Table, lengths: Table, words: Words, position: int) -> int:
    """Writes the codes of (E,) entries at a bit position with numpy; returns the next position."""
    whole = len(entries) // 4 * 4
    pairs = _pair_table(codes[:END].astype(np.uint32), lengths[:END].astype(np.uint32))
    for start in range(0, whole, _CHUNK):
        chunk = entries[start : min(start + _CHUNK, whole)]
        position = _emit_fours(pairs[chunk.view("<u2")].view("<u8"), words, position)
    for entry in entries[whole:]:
        position = _put(words, position, int(codes[entry]), int(lengths[entry]))
    return position


def _pair_table(codes: NDArray[np.uint32], lengths: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """(65536,) the joined code of two entries in 24 bits, and above them its length."""
    joined: NDArray[np.uint32] = codes | codes[:, None] << lengths
    joined |= (lengths + lengths[:, None]) << np.uint32(24)
    return joined.reshape(-1)


def _emit_fours(fours: Words, words: Words, position: int) -> int:
    """Writes words of two pair codes each; sums stand for bitwise or, as no bit is set twice."""
    first = fours >> np.uint64(24) & np.uint64(0xFF)
    second = fours >> np.uint64(56)
    code = fours & np.uint64(0xFF_FFFF)
    code |= (fours >> np.uint64(32) & np.uint64(0xFF_FFFF)) << first
    ends = np.cumsum(first + second) + np.uint64(position)
    starts = ends - first - second
    shift, word = starts & np.uint64(63), (starts >> np.uint64(6)).view(np.int64)
    last = np.append(np.flatnonzero(word[1:] != word[:-1]), len(word) - 1)  # of each word
    sums = np.cumsum(code << shift)[last]
    sums[1:] -= sums[:-1].copy()
    words[word[last]] |= sums
    words[word[last] + 1] |= code[last] >> np.uint64(1) >> (np.uint64(63) - shift[last])
    return int(ends[-1])
