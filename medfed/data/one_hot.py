"""Class numbers as one-hot rows."""

import numpy as np

from medfed.errors import LabelNotMapped

__all__ = ["one_hot"]


def one_hot(numbers: np.ndarray, classes: int, where: str) -> np.ndarray:
    """(N,) class numbers to (N, C) int8 rows of one 1.

    Raises:
        LabelNotMapped: a number outside 0 .. C-1; names the file and the number.
    """
    wrong = numbers[(numbers < 0) | (numbers >= classes)]
    if wrong.size:
        raise LabelNotMapped(
            f"{where}: class {int(wrong[0])} is not among the job's {classes} classes (0 to {classes - 1})."
        )
    return np.eye(classes, dtype=np.int8)[numbers.astype(np.int64)]
