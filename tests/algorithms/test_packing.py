import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medfed.algorithms.packing import pack, pack_floats, packed_bytes, unpack, unpack_floats
from medfed.errors import WireError


def crowded(levels, cases=3000, classes=3):
    rng = np.random.default_rng(levels)
    centred = rng.normal(levels / 2, levels / 12, (cases, classes))
    return np.clip(centred, 0, levels - 1).astype(np.int64)


def uniform(levels, cases=3000, classes=3):
    return np.random.default_rng(levels).integers(0, levels, (cases, classes))


def naive_bits(indices, levels):
    """Each plane of 8 bits, bit by bit, least significant first."""
    width, flat = (levels - 1).bit_length(), indices.T.reshape(-1).tolist()
    out = b""
    for low in range(0, width, 8):
        kept = min(8, width - low)
        text = "".join(format(v >> low & (1 << kept) - 1, f"0{kept}b")[::-1] for v in flat)
        text += "0" * (-len(text) % 8)
        out += bytes(int(text[i : i + 8][::-1], 2) for i in range(0, len(text), 8))
    return out


@given(st.integers(2, 70_000), st.integers(0, 40), st.integers(1, 5), st.integers(0, 9))
@settings(max_examples=200, deadline=None)
def test_unpack_undoes_pack(levels, cases, classes, seed):
    indices = np.random.default_rng(seed).integers(0, levels, (cases, classes))
    packed, encoding = pack(indices, levels=levels)
    assert packed.size <= packed_bytes(cases, classes, levels)
    back = unpack(packed, encoding, cases=cases, classes=classes, levels=levels)
    assert np.array_equal(back, indices)


@pytest.mark.parametrize("levels", [2, 3, 8, 16, 100, 256, 257, 1000, 65_536, 70_000])
@pytest.mark.parametrize(("make", "expected"), [(crowded, None), (uniform, "bits")])
def test_every_width_both_ways(levels, make, expected):
    indices = make(levels, cases=30_001)
    packed, encoding = pack(indices, levels=levels)
    assert np.array_equal(unpack(packed, encoding, cases=30_001, classes=3, levels=levels), indices)
    if expected and levels in (2, 8, 16, 256, 65_536):
        assert encoding == expected
        assert packed.size == packed_bytes(30_001, 3, levels)


@pytest.mark.parametrize("levels", [2, 5, 8, 100, 256, 600, 65_536])
def test_bits_equal_a_bit_by_bit_loop(levels):
    indices = uniform(levels, cases=13, classes=3)
    packed, encoding = pack(indices, levels=levels)
    assert encoding == "bits"
    assert packed.tobytes() == naive_bits(indices, levels)


def test_crowded_logits_take_fewer_bytes_than_bits():
    packed, encoding = pack(crowded(256), levels=256)
    assert encoding == "huffman"
    assert packed.size < 0.9 * packed_bytes(3000, 3, 256)


def test_packed_bytes_by_hand():
    assert packed_bytes(10, 3, 8) == 12  # 30 indices of 3 bits are 90 bits
    assert packed_bytes(10, 3, 256) == 30
    assert packed_bytes(10, 3, 0) == 120


@pytest.mark.parametrize("make", [crowded, uniform])
def test_every_truncation_is_refused(make):
    indices = make(256, cases=200)
    packed, encoding = pack(indices, levels=256)
    for end in range(packed.size):
        with pytest.raises(WireError):
            unpack(packed[:end], encoding, cases=200, classes=3, levels=256)
    with pytest.raises(WireError):
        unpack(np.append(packed, np.uint8(0)), encoding, cases=200, classes=3, levels=256)


@given(st.binary(max_size=300), st.sampled_from(["bits", "huffman"]), st.integers(2, 70_000))
@settings(deadline=None)
def test_any_bytes_give_indices_or_a_wire_error(blob, encoding, levels):
    packed = np.frombuffer(blob, dtype=np.uint8)
    try:
        indices = unpack(packed, encoding, cases=20, classes=4, levels=levels)
    except WireError:
        return
    assert indices.shape == (20, 4)
    assert indices.min() >= 0
    assert indices.max() < levels


def test_a_zip_bomb_is_refused_in_little_memory():
    bomb = np.frombuffer(zlib.compress(bytes(200_000_000), 9), dtype=np.uint8)
    tracemalloc.start()
    with pytest.raises(WireError):
        unpack(bomb, "huffman", cases=1000, classes=10, levels=256)
    with pytest.raises(WireError):
        unpack(bomb, "huffman", cases=20_000_000, classes=10, levels=256)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize("encoding", ["bits", "huffman", "zip", "float32"])
def test_a_claim_of_huge_sizes_is_refused(encoding):
    with pytest.raises(WireError):
        unpack(np.zeros(9, np.uint8), encoding, cases=10**15, classes=10**6, levels=256)


@pytest.mark.parametrize("levels", [5, 100, 300])
def test_an_index_outside_its_levels_is_refused(levels):
    top = 1 << (levels - 1).bit_length()
    packed, encoding = pack(np.full((100, 2), top - 1), levels=top)
    with pytest.raises(WireError):
        unpack(packed, encoding, cases=100, classes=2, levels=levels)
    for bad in (-1, levels):
        with pytest.raises(WireError):
            pack(np.full((3, 2), bad), levels=levels)


def test_floats_come_back_bit_for_bit():
    logits = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    packed, encoding = pack_floats(logits)
    assert packed.tobytes() == logits.T.astype("<f4").tobytes()
    back = unpack_floats(packed, encoding, cases=7, classes=3)
    assert back.tobytes() == logits.tobytes()
    for wrong in (packed[:-1], packed[:-4]):
        with pytest.raises(WireError):
            unpack_floats(wrong, encoding, cases=7, classes=3)
    with pytest.raises(WireError):
        unpack_floats(packed, "bits", cases=7, classes=3)
