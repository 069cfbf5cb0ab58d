import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medfed.algorithms import deflate, huffman

rng = np.random.default_rng(0)
KINDS = {
    "uniform": lambda n: rng.integers(0, 256, n),
    "crowded": lambda n: np.clip(rng.normal(128, 20, n), 0, 255),
    "steep": lambda n: np.minimum(rng.geometric(0.5, n), 255),  # an unbounded code would be long
    "one value": lambda n: np.full(n, 7),
}


def planned(counts):
    lengths, codes = np.zeros((2, 257), dtype=np.int64)
    used = np.flatnonzero(counts)
    keys = np.sort(counts[used] * huffman.SPREAD + used)
    huffman.code_block(keys, lengths, codes, np.zeros((huffman.FIELDS, 2), np.int64), False)
    return lengths, codes


def both(entries, block):
    plans = [deflate.plan(entries, block=block, compiled=c) for c in (False, True)]
    streams = [deflate.write(entries, plan).tobytes() for plan in plans]
    assert streams[0] == streams[1]
    assert len(streams[0]) == plans[0].size == plans[1].size
    return streams[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 257, 5000, 33_001])
def test_zlib_reads_it_and_both_ways_give_the_same_bytes(kind, count):
    entries = KINDS[kind](count).astype(np.uint8)
    assert zlib.decompress(both(entries, block=16_384)) == entries.tobytes()


@given(st.binary(min_size=1, max_size=600), st.integers(1, 300))
@settings(max_examples=30, deadline=None)
def test_any_bytes_in_blocks_of_any_size(data, block):
    entries = np.frombuffer(data, dtype=np.uint8)
    plan = deflate.plan(entries, block=max(block, len(data) // 4 + 1))
    assert zlib.decompress(deflate.write(entries, plan).tobytes()) == data


def test_a_code_by_hand():
    # Counts 4, 2, 1 and 1 (the end of the block) need codes of 1, 2, 3 and 3 bits.
    counts = np.zeros(257, dtype=np.int64)
    counts[[10, 20, 30, huffman.END]] = 4, 2, 1, 1
    lengths, codes = planned(counts)
    assert lengths[[10, 20, 30, 256]].tolist() == [1, 2, 3, 3]
    assert codes[[10, 20, 30, 256]].tolist() == [0b0, 0b01, 0b011, 0b111]  # first bit lowest
    assert np.count_nonzero(lengths) == 4


@pytest.mark.parametrize("steepness", [1.1, 2, 3])
def test_codes_fill_their_space_and_stay_short(steepness):
    lengths, _ = planned(np.ceil(1e6 / steepness ** np.arange(257.0)).astype(np.int64))
    assert lengths.min() >= 1
    assert lengths.max() <= 12
    assert sum(2.0**-lengths) == 1  # Kraft: neither a code too many nor one unused


def test_close_to_the_entropy():
    entries = KINDS["crowded"](100_000).astype(np.uint8)
    share = np.bincount(entries) / entries.size
    entropy_bytes = -(share * np.log2(np.where(share > 0, share, 1))).sum() * entries.size / 8
    assert deflate.plan(entries, block=1 << 17).size < 1.01 * entropy_bytes + 200
