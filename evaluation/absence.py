"""The one rule for what is absent, and the penalties that published tools put in its place.

| prediction | reference | outcome      | overlap                    | distances |
|------------|-----------|--------------|----------------------------|-----------|
| filled     | filled    | `scored`     | a number                   | a number  |
| empty      | filled    | `missed`     | 0                          | inf       |
| filled     | empty     | `invented`   | 0                          | inf       |
| empty      | empty     | `both_empty` | nan: nothing to be right about | nan   |

A score that is nan is undefined and is counted; one that is inf is a failure and is counted. Neither
is dropped in silence. Two more outcomes name what was never compared: `unlabelled` and `skipped`.
"""

from typing import Literal

import numpy as np

from medfed.evaluation.checks import InputError

__all__ = ["OUTCOMES", "Outcome", "Penalty", "absent_distance", "outcome", "penalty_mm"]

Outcome = Literal["scored", "both_empty", "missed", "invented", "unlabelled", "skipped"]
OUTCOMES: tuple[Outcome, ...] = (
    "scored", "both_empty", "missed", "invented", "unlabelled", "skipped",
)  # fmt: skip
Penalty = float | Literal["diagonal"]


def outcome(pred_count: int, ref_count: int) -> Outcome:
    """The outcome's name from the two numbers of foreground elements.

    >>> outcome(0, 12)
    'missed'
    """
    if pred_count and ref_count:
        return "scored"
    if ref_count:
        return "missed"
    return "invented" if pred_count else "both_empty"


def absent_distance(
    result: Outcome, *, empty: float = float("inf"), both_empty: float = float("nan")
) -> float:
    """The distance that stands for an absent surface.

    Args:
        result: any outcome but `scored`.
        empty: what a missed or invented object scores, in millimetres.
        both_empty: what two empty sides score.
    """
    if result in ("missed", "invented"):
        return empty
    return both_empty if result == "both_empty" else float("nan")


def penalty_mm(penalty: Penalty, shape: tuple[int, ...], spacing_mm: tuple[float, ...]) -> float:
    """A penalty in millimetres; `diagonal` is the length of the image's diagonal.

    Args:
        penalty: a number of millimetres, or `diagonal`.
        shape: of the image.
        spacing_mm: one number an axis.

    Raises:
        InputError: another word.
    """
    if isinstance(penalty, str):
        if penalty != "diagonal":
            raise InputError(f"penalty={penalty!r} is neither a number nor 'diagonal'.")
        return float(np.linalg.norm(np.multiply(shape, spacing_mm)))
    return float(penalty)
