"""The codec carries every message unchanged and refuses whatever it was not built for."""

import contextlib
import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medfed import messages
from medfed.errors import VersionMismatch, WireError
from medfed.messages import LogitsUpload, Open, Refusal, Trained, Vote
from medfed.wire import HEADER_KEY, decode, encode, payload_bytes


def upload(**changes):
    fields = {
        "question": "public", "cases": 5, "levels": 100, "bound": 8.0, "encoding": "bits", "noise": "none",
        "labelled": np.array([True, False, True]), "packed": np.arange(9, dtype=np.uint8),
        "confidence": np.zeros(0, np.uint8),
    }  # fmt: skip
    return LogitsUpload(**{**fields, **changes})


def same(left, right):
    assert type(left) is type(right)
    for name in left.__dataclass_fields__:
        a, b = getattr(left, name), getattr(right, name)
        if isinstance(a, dict):
            assert a.keys() == b.keys()
            assert all(np.array_equal(a[k], b[k]) for k in a)
        else:
            assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b


def test_a_message_comes_back_as_it_went():
    for message in (
        upload(),
        Open(
            "r",
            "fedkd",
            "0.1.0",
            "f",
            "p",
            "v",
            np.ones((4, 32), np.uint8),
            np.zeros((0, 32), np.uint8),
        ),
        Vote("r", 2, {"body.0.weight": np.ones((2, 3), np.float32), "n": np.array(4, np.int64)}),
        Trained(3, 1.5, False),
    ):
        same(decode(encode(message), sender="site-1"), message)


def test_the_same_message_gives_the_same_bytes():
    assert encode(upload()) == encode(upload())


def test_the_header_of_a_logits_upload_stays_under_a_kibibyte():
    message = upload(
        labelled=np.ones(14, bool), packed=np.zeros(326_879, np.uint8), noise="laplace scale 1.25"
    )
    assert len(encode(message)) - payload_bytes(message) <= 1024


@given(st.binary(max_size=400))
def test_no_random_bytes_are_accepted(data):
    with pytest.raises(WireError):
        decode(data, sender="site-1")


@given(st.integers(0, 2_000), st.integers(0, 255))
def test_one_changed_byte_never_escapes_as_another_error(position, value):
    data = bytearray(encode(upload()))
    data[position % len(data)] = value
    with contextlib.suppress(WireError):
        decode(bytes(data), sender="site-1")


def tampered(message, header=None, outer=None, body=None):
    """The message's bytes with its inner header, outer header or body changed."""
    data = encode(message)
    length = struct.unpack("<Q", data[:8])[0]
    whole = json.loads(data[8 : 8 + length])
    inner = json.loads(whole["__metadata__"][HEADER_KEY])
    if header:
        header(inner)
    whole["__metadata__"][HEADER_KEY] = json.dumps(inner)
    if outer:
        outer(whole)
    text = json.dumps(whole).encode()
    return struct.pack("<Q", len(text)) + text + (data[8 + length :] if body is None else body)


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update(kind="exec"),
        lambda h: h.update(kind=["logits"]),
        lambda h: h.update(extra=1),
        lambda h: h["scalars"].update(path="x"),
        lambda h: h["scalars"].pop("cases"),
        lambda h: h["scalars"].update(cases="5"),
        lambda h: h["scalars"].update(cases=True),
        lambda h: h["scalars"].update(cases=1 << 60),
        lambda h: h["scalars"].update(bound=float("nan")),
        lambda h: h["scalars"].update(noise="x" * 513),
        lambda h: h["scalars"].update(noise="a\x00b"),
    ],
)
def test_a_changed_header_is_refused(change):
    with pytest.raises(WireError, match="site-9"):
        decode(tampered(upload(), header=change), sender="site-9")


def test_another_version_of_a_kind_is_named():
    with pytest.raises(VersionMismatch, match="version 7"):
        decode(tampered(upload(), header=lambda h: h.update(version=7)), sender="site-1")


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w["packed"].update(shape=[10 << 30]),
        lambda w: w["packed"].update(data_offsets=[0, 10 << 30]),
        lambda w: w["packed"].update(dtype="F32"),
        lambda w: w.update(extra=w["packed"]),
        lambda w: w.pop("packed"),
        lambda w: w["__metadata__"].update(note="hidden"),
        lambda w: w["packed"].update(note="hidden"),
        lambda w: w["labelled"].update(shape=[3, 1]),
    ],
)
def test_a_changed_array_declaration_is_refused(change):
    with pytest.raises(WireError):
        decode(tampered(upload(), outer=change), sender="site-1")


def test_bytes_hidden_behind_the_arrays_are_refused():
    with pytest.raises(WireError, match="do not fill"):
        decode(encode(upload()) + b"hidden", sender="site-1")


def test_nan_weights_are_refused_on_both_ends():
    message = Vote("r", 0, {"w": np.array([np.nan], np.float32)})
    with pytest.raises(WireError, match="NaN"):
        encode(message)


def test_a_kind_that_is_not_expected_here_is_refused():
    with pytest.raises(WireError, match="no place here"):
        decode(encode(Refusal("gate", "no")), sender="site-1", expect=("logits",))


def test_a_message_over_its_limit_is_refused():
    message = Trained(3, 1.0, False)
    data = tampered(message, outer=lambda w: w.update({"__pad": 1}) or w.pop("__pad"))
    padded = data[:8] + data[8:]
    assert decode(padded, sender="s") == message
    spaces = b" " * (messages.Trained.MAX_BYTES + 1)
    length = struct.unpack("<Q", data[:8])[0]
    text = data[8 : 8 + length] + spaces
    with pytest.raises(WireError, match="over the limit"):
        decode(struct.pack("<Q", len(text)) + text, sender="s")


def test_every_kind_declares_a_version_and_a_limit():
    for name, kind in messages.KINDS.items():
        assert kind.kind == name
        assert kind.VERSION >= 1
        assert kind.MAX_BYTES > 0
