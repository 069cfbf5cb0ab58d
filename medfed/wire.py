"""The wire codec: a message in, bytes out, and back. No pickle.

A message is one safetensors file: its arrays by name, and in the metadata one JSON header with the
kind, the version and the scalars. Decoding trusts nothing: size, header, kind, version, names, dtypes,
shapes and finiteness are checked before an array is built, and a refusal names the sender and the field.
"""

import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any, get_type_hints

import numpy as np
from safetensors.numpy import load, save

from medfed.errors import VersionMismatch, WireError
from medfed.messages import KINDS, Message, array_fields, scalar_fields, weights_fields

__all__ = ["HEADER_KEY", "decode", "encode", "payload_bytes"]

HEADER_KEY = "medfed"
LONGEST_TEXT = 512  # no field of any message needs more, and a longer one could smuggle a payload
HEADER_LIMIT = 4 << 20  # DenseNet-121 lists about 730 tensors in 70 KiB
_LENGTH_BYTES = 8  # safetensors opens with the header's length as a little-endian u64
_WEIGHT_NAME = re.compile(r"[A-Za-z0-9_.]{1,200}")
_DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
}


def encode(message: Message) -> bytes:
    """The bytes of a message; the same message always gives the same bytes.

    Raises:
        WireError: a field does not fit its own declaration.
    """
    kind = type(message)
    arrays: dict[str, np.ndarray] = {}
    for name in array_fields(kind):
        arrays[name] = np.asarray(getattr(message, name), order="C")
    for name in weights_fields(kind):
        for key, value in getattr(message, name).items():
            arrays[f"{name}/{key}"] = np.asarray(value, order="C")
    scalars = {name: _plain(getattr(message, name)) for name in scalar_fields(kind)}
    _checked_scalars(kind, scalars, sender="this process")
    _check_arrays(
        kind, {k: (v.dtype.name, v.shape) for k, v in arrays.items()}, sender="this process"
    )
    _check_finite(kind, arrays, sender="this process")
    header = {"kind": kind.kind, "version": kind.VERSION, "scalars": scalars}
    return save(
        arrays, metadata={HEADER_KEY: json.dumps(header, separators=(",", ":"), sort_keys=True)}
    )


def decode(data: bytes, *, sender: str, expect: Collection[str] = ()) -> Message:
    """The message in `data`.

    Args:
        data: bytes as they arrived.
        sender: who sent them, for the error text.
        expect: kinds that may stand here; any known kind when empty.

    Raises:
        WireError: anything about the bytes is not as the kind declares it.
        VersionMismatch: a known kind in another version.
    """
    header_length, header = _outer_header(data, sender)
    inner = _inner_header(header, sender)
    kind = _kind_of(inner, sender, expect)
    if len(data) > kind.MAX_BYTES:
        raise WireError(
            f"{sender}: a {kind.kind} of {len(data)} bytes is over the limit of {kind.MAX_BYTES}."
        )
    scalars = _checked_scalars(kind, inner["scalars"], sender)
    shapes = _declared_arrays(header, len(data) - _LENGTH_BYTES - header_length, sender)
    _check_arrays(kind, shapes, sender)
    try:
        arrays = load(data)
    except Exception as error:  # the library raises its own untyped errors on damaged files
        raise WireError(f"{sender}: the arrays of a {kind.kind} are damaged: {error}") from error
    _check_finite(kind, arrays, sender)
    return kind(**_fields_from(kind, scalars, arrays))


def payload_bytes(message: Message) -> int:
    """Bytes of a message's arrays alone, without any header."""
    kind = type(message)
    arrays = [np.asarray(getattr(message, name)) for name in array_fields(kind)]
    for name in weights_fields(kind):
        arrays.extend(getattr(message, name).values())
    return sum(array.nbytes for array in arrays)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _fields_from(
    kind: type[Message], scalars: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> dict[str, Any]:
    found: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in scalars.items()}
    for name in weights_fields(kind):
        found[name] = {
            k.removeprefix(f"{name}/"): v for k, v in arrays.items() if k.startswith(f"{name}/")
        }
    found.update({name: arrays[name] for name in array_fields(kind)})
    return found


def _outer_header(data: bytes, sender: str) -> tuple[int, dict[str, Any]]:
    if len(data) < _LENGTH_BYTES:
        raise WireError(f"{sender}: a message of {len(data)} bytes is too short to be one.")
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    if length > min(HEADER_LIMIT, len(data) - _LENGTH_BYTES):
        raise WireError(
            f"{sender}: a message declares a header of {length} bytes; the limit is {HEADER_LIMIT}."
        )
    return length, _json_object(data[_LENGTH_BYTES : _LENGTH_BYTES + length], sender)


def _inner_header(header: dict[str, Any], sender: str) -> dict[str, Any]:
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or set(metadata) != {HEADER_KEY}:
        raise WireError(
            f"{sender}: a message must carry exactly one metadata entry, {HEADER_KEY!r}."
        )
    inner = _json_object(str(metadata[HEADER_KEY]).encode(), sender)
    if set(inner) != {"kind", "version", "scalars"}:
        raise WireError(
            f"{sender}: a message header must hold kind, version and scalars, and nothing else."
        )
    return inner


def _json_object(text: bytes, sender: str) -> dict[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        raise WireError(f"{sender}: a message header is not valid JSON.") from error
    if not isinstance(value, dict):
        raise WireError(f"{sender}: a message header must be a JSON object.")
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)


def _kind_of(inner: Mapping[str, Any], sender: str, expect: Collection[str]) -> type[Message]:
    name = inner["kind"]
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None or (expect and kind.kind not in expect):
        allowed = ", ".join(sorted(expect or KINDS))
        raise WireError(
            f"{sender}: a message of kind {str(name)[:40]!r} has no place here (allowed: {allowed})."
        )
    if inner["version"] != kind.VERSION:
        raise VersionMismatch(
            f"{sender}: a {kind.kind} of version {str(inner['version'])[:20]} arrived; this side speaks "
            f"version {kind.VERSION}. Install the same medfed release on every party."
        )
    return kind


def _checked_scalars(kind: type[Message], scalars: object, sender: str) -> dict[str, Any]:
    expected = get_type_hints(kind)
    names = set(scalar_fields(kind))
    if not isinstance(scalars, dict) or set(scalars) != names:
        found = (
            sorted(str(k)[:40] for k in scalars)
            if isinstance(scalars, dict)
            else type(scalars).__name__
        )
        raise WireError(
            f"{sender}: the fields of a {kind.kind} must be {sorted(names)}, not {found}."
        )
    for name, value in scalars.items():
        if not _fits(value, expected[name]):
            raise WireError(
                f"{sender}: field {name!r} of a {kind.kind} must be a plain {expected[name].__name__}."
            )
    return scalars


def _fits(value: object, annotation: Any) -> bool:  # noqa: ANN401 - a typing construct
    if annotation is bool:
        return isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 53
    if annotation is float:
        return (
            isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        )
    return isinstance(value, str) and len(value) <= LONGEST_TEXT and value.isprintable()


def _declared_arrays(
    header: Mapping[str, Any], body_bytes: int, sender: str
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Name, dtype and shape of each declared array, once the offsets are known to fill the body exactly."""
    found, spans = {}, []
    for name, entry in header.items():
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise WireError(f"{sender}: the array {name[:40]!r} is declared badly.")
        dtype, shape, span = _DTYPES.get(str(entry["dtype"])), entry["shape"], entry["data_offsets"]
        if dtype is None or not _whole_numbers(shape) or not _whole_numbers(span) or len(span) != 2:
            raise WireError(
                f"{sender}: the array {name[:40]!r} has a dtype, shape or offset that is not allowed."
            )
        if span[1] - span[0] != math.prod(shape) * np.dtype(dtype).itemsize:
            raise WireError(
                f"{sender}: the array {name[:40]!r} declares a shape that its bytes do not fill."
            )
        found[name] = (dtype, tuple(shape))
        spans.append((span[0], span[1]))
    ends = [0, *(end for _, end in sorted(spans))]
    if [begin for begin, _ in sorted(spans)] != ends[:-1] or ends[-1] != body_bytes:
        raise WireError(
            f"{sender}: the arrays of a message do not fill its {body_bytes} bytes exactly."
        )
    return found


def _whole_numbers(values: object) -> bool:
    return (
        isinstance(values, list)
        and len(values) <= 8
        and all(isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 1 << 40 for v in values)
    )


def _check_arrays(
    kind: type[Message], arrays: Mapping[str, tuple[str, tuple[int, ...]]], sender: str
) -> None:
    specs, prefixes = array_fields(kind), tuple(f"{n}/" for n in weights_fields(kind))
    named = {name for name in arrays if not name.startswith(prefixes)} if prefixes else set(arrays)
    if named != set(specs):
        raise WireError(
            f"{sender}: the arrays of a {kind.kind} must be {sorted(specs)}, not {sorted(n[:40] for n in named)}."
        )
    sizes: dict[str, int] = {}
    for name, spec in specs.items():
        dtype, shape = arrays[name]
        fits = dtype == spec.dtype and len(shape) == len(spec.axes)
        for axis, size in zip(spec.axes, shape, strict=False):
            wanted = int(axis) if axis.isdigit() else sizes.setdefault(axis, size)
            # A letter may also stand for an array that is left empty, such as an unasked confidence.
            fits = fits and size in (wanted, 0) if not axis.isdigit() else fits and size == wanted
        if not fits:
            raise WireError(
                f"{sender}: the array {name!r} of a {kind.kind} must be {spec.dtype} with axes "
                f"{' '.join(spec.axes)}, not {dtype} {list(shape)}."
            )
    for name in arrays.keys() - named:
        if not _WEIGHT_NAME.fullmatch(name.split("/", 1)[1]):
            raise WireError(f"{sender}: {name[:40]!r} is no name for a network's weight.")


def _check_finite(kind: type[Message], arrays: Mapping[str, np.ndarray], sender: str) -> None:
    for name, value in arrays.items():
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise WireError(
                f"{sender}: the array {name!r} of a {kind.kind} holds NaN or infinite values.",
                upstream="a message held NaN or infinite values",
            )
