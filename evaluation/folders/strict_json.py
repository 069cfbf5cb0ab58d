"""JSON that any reader accepts: nan and infinity are the strings "nan", "inf" and "-inf"."""

import json
import math
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["decoded_number", "dumped", "plain"]

_WORDS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def dumped(value: Any, *, indent: int | None = None) -> str:  # noqa: ANN401
    """JSON text of dataclasses, arrays, paths and numbers; never a bare NaN."""
    return json.dumps(plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:  # noqa: ANN401
    """The value as JSON scalars, lists and objects."""
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else str(float(value))
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, np.ndarray)):
        return [plain(item) for item in value]
    if isinstance(value, (np.integer, np.bool_)):
        return value.item()
    if isinstance(value, Path):
        return value.as_posix()
    raise TypeError(f"{type(value).__name__} has no JSON form.")


def decoded_number(value: Any) -> float:  # noqa: ANN401
    """The number behind a JSON or CSV value; an empty cell is nan.

    Raises:
        ValueError: text that is no number.
    """
    if value is None or value == "":
        return float("nan")
    if isinstance(value, str):
        return _WORDS[value] if value in _WORDS else float(value)
    return float(value)
