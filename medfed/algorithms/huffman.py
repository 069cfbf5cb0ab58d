"""Code lengths, codes and block headers of RFC 1951, in loops that run as Python or compiled.

Symbols are the 256 literals and 256 for the end of a block; no lengths or distances are used.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

__all__ = [
    "END",
    "FIELDS",
    "SPREAD",
    "code_block",
    "code_block_compiled",
    "count_compiled",
    "emit_compiled",
]

Table = NDArray[np.int64]

END = 256
FIELDS = 5 + 19 + 2 * 258  # at most so many numbers in a block's header
_ORDER = np.array([16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15])  # 3.2.7
_LONGEST = 12  # bits of a code: four of them fit a 64-bit word with room to spare
_LONGEST_INNER = 7  # bits of a code that codes the lengths
SPREAD = 512  # above any symbol, so that count * 512 + symbol sorts by count


def code_block(keys: Table, lengths: Table, codes: Table, fields: Table, last: bool) -> int:
    """Plans one block with dynamic Huffman codes (3.2.7).

    Args:
        keys: the two or more symbols that occur, each as count * SPREAD + symbol, sorted.
        lengths: (257,) zeros, filled with the bits of each code.
        codes: (257,) zeros, filled with the codes, first bit lowest.
        fields: (FIELDS, 2) filled with the header's numbers and their bits.
        last: whether the stream ends with this block.

    Returns:
        How many numbers the header has.
    """
    _code_lengths(keys, _LONGEST, lengths)
    _canonical(lengths, codes)
    runs = np.zeros((END + 2, 3), dtype=np.int64)
    number = _runs(lengths, runs)
    inner, inner_codes = np.zeros(19, dtype=np.int64), np.zeros(19, dtype=np.int64)
    _code_lengths(_sorted_keys(runs[:number, 0]), _LONGEST_INNER, inner)
    _canonical(inner, inner_codes)
    told = 4
    for place in range(4, 19):
        if inner[_ORDER[place]] > 0:
            told = place + 1
    size = 5
    fields[0, 0], fields[0, 1] = int(last), 1
    fields[1, 0], fields[1, 1] = 2, 2
    fields[2, 0], fields[2, 1] = 0, 5  # 257 symbols
    fields[3, 0], fields[3, 1] = 0, 5  # one distance, of no bits: none is used
    fields[4, 0], fields[4, 1] = told - 4, 4
    for place in range(told):
        fields[size, 0], fields[size, 1] = inner[_ORDER[place]], 3
        size += 1
    for run in range(number):
        symbol = runs[run, 0]
        fields[size, 0], fields[size, 1] = inner_codes[symbol], inner[symbol]
        fields[size + 1, 0], fields[size + 1, 1] = runs[run, 1], runs[run, 2]
        size += 2
    return size


@register_jitable
def _sorted_keys(symbols: Table) -> Table:
    """The sorted keys of a few symbols below 19."""
    keys = np.arange(19)
    for symbol in symbols:
        keys[symbol] += SPREAD
    used = 0
    for symbol in range(19):
        key, place = keys[symbol], used
        if key >= SPREAD:
            while place > 0 and keys[place - 1] > key:
                keys[place] = keys[place - 1]
                place -= 1
            keys[place] = key
            used += 1
    return keys[:used]


@register_jitable
def _code_lengths(keys: Table, longest: int, lengths: Table) -> None:
    """Huffman code lengths; the counts are flattened until none is above `longest`."""
    used = len(keys)
    weights = np.zeros(2 * used - 1, dtype=np.int64)
    depths = np.zeros(2 * used - 1, dtype=np.int64)
    for place in range(used):
        weights[place] = keys[place] // SPREAD
    while _deepest(weights, depths, used) > longest:
        for place in range(used):
            weights[place] = (weights[place] + 1) // 2
    for place in range(used):
        lengths[keys[place] % SPREAD] = depths[place]


@register_jitable
def _deepest(weights: Table, depths: Table, leaves: int) -> int:
    """Fills in a Huffman tree: leaves in rising order of weight, two or more, then the nodes.

    Returns:
        The depth of the deepest leaf.
    """
    nodes = 2 * leaves - 1
    leaf, inner = 0, leaves  # the lightest of each kind that has no parent yet
    parents = np.zeros(nodes, dtype=np.int64)
    for node in range(leaves, nodes):
        weights[node] = 0
        for _ in range(2):
            if inner == node or (leaf < leaves and weights[leaf] <= weights[inner]):
                child = leaf
                leaf += 1
            else:
                child = inner
                inner += 1
            parents[child] = node
            weights[node] += weights[child]
    deepest = 0
    depths[nodes - 1] = 0
    for node in range(nodes - 2, -1, -1):
        depths[node] = depths[parents[node]] + 1
        deepest = max(deepest, depths[node])
    return deepest


@register_jitable
def _canonical(lengths: Table, codes: Table) -> None:
    """The codes of 3.2.2, turned so that their first bit is the lowest."""
    code = 0
    for length in range(1, _LONGEST + 1):
        for symbol in range(len(lengths)):
            if lengths[symbol] == length:
                turned = 0
                for bit in range(length):
                    turned |= (code >> bit & 1) << (length - 1 - bit)
                codes[symbol] = turned
                code += 1
        code <<= 1


@register_jitable
def _runs(lengths: Table, runs: Table) -> int:
    """Fills in the code lengths and the one distance length with repeats joined.

    Args:
        lengths: (257,).
        runs: (258, 3) filled with symbol, repeat, and the repeat's bits.

    Returns:
        How many there are.
    """
    number, place = 0, 0
    while place <= END + 1:
        length = lengths[place] if place <= END else 0
        end = place + 1
        while end <= END + 1 and (lengths[end] if end <= END else 0) == length:
            end += 1
        run = end - place
        runs[number, 0], runs[number, 1], runs[number, 2] = length, 0, 0
        if length == 0 and run >= 11:
            run = min(run, 138)
            runs[number, 0], runs[number, 1], runs[number, 2] = 18, run - 11, 7
        elif length == 0 and run >= 3:
            runs[number, 0], runs[number, 1], runs[number, 2] = 17, run - 3, 3
        elif length > 0 and run >= 4:
            run = min(run, 7)
            number += 1
            runs[number, 0], runs[number, 1], runs[number, 2] = 16, run - 4, 2
        else:
            run = 1
        number += 1
        place += run
    return number


def _compiled(loop: Callable[..., Any]) -> Callable[..., Any]:
    try:
        compiled: Callable[..., Any] = njit(cache=True)(loop)
    except RuntimeError:  # numba finds no folder that it may write its cache to
        compiled = njit(loop)
    return compiled


def _count(entries: NDArray[np.uint8]) -> Table:
    """(257,) how often each literal occurs among (E,) entries."""
    counts = np.zeros(END + 1, dtype=np.int64)
    for entry in entries:
        counts[entry] += 1
    return counts


def _emit(
    entries: NDArray[np.uint8], codes: Table, lengths: Table, words: NDArray[np.uint64], start: int
) -> int:
    """Writes the codes of (E,) entries from bit `start`; returns the next bit."""
    word, fill = start >> 6, np.uint64(start & 63)
    held = words[word]
    for entry in entries:
        code, length = np.uint64(codes[entry]), np.uint64(lengths[entry])
        held |= code << fill
        fill += length
        if fill >= np.uint64(64):
            words[word] = held
            word += 1
            fill -= np.uint64(64)
            held = code >> (length - fill)
    words[word] = held
    return (word << 6) + int(fill)


code_block_compiled = _compiled(code_block)
count_compiled = _compiled(_count)
emit_compiled = _compiled(_emit)
