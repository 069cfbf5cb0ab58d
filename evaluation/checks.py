"""What the functions of this room accept, and the one error that refuses the rest."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from medfed.errors import DataError

__all__ = ["InputError", "checked_choice", "checked_spacing", "same_shape"]


class InputError(DataError, ValueError):
    """Arrays, spacings or options that no score can be computed from."""

    code = "evaluation_input"
    sentence = "a prediction or reference cannot be scored as it is"


def checked_choice(value: str, allowed: Sequence[str], name: str) -> str:
    """The value itself, where it is one of the allowed words.

    Raises:
        InputError: it is another word.
    """
    if value not in allowed:
        raise InputError(f"{name}={value!r} is unknown; it is one of {', '.join(allowed)}.")
    return value


def same_shape(pred: np.ndarray, ref: np.ndarray) -> None:
    """Refuses two arrays of different shape; nothing is ever broadcast.

    Raises:
        InputError: the shapes differ.
    """
    if pred.shape != ref.shape:
        raise InputError(
            f"prediction {pred.shape} and reference {ref.shape} differ in shape; "
            "bring both onto one grid first."
        )


def checked_spacing(spacing_mm: Any, dimensions: int) -> tuple[float, ...]:  # noqa: ANN401
    """One positive number an axis, in array order; ones where none is given.

    Raises:
        InputError: wrong length, or a number that is not finite and positive.
    """
    if spacing_mm is None:
        return (1.0,) * dimensions
    try:
        spacing = np.asarray(spacing_mm, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"spacing_mm={spacing_mm!r} is not a list of numbers.") from None
    if spacing.shape != (dimensions,):
        raise InputError(
            f"spacing_mm={spacing_mm!r} must hold one number for each of the {dimensions} axes."
        )
    if not (np.isfinite(spacing).all() and (spacing > 0).all()):
        raise InputError(f"spacing_mm={spacing_mm!r} must be finite and above 0 on every axis.")
    return tuple(spacing.tolist())
