"""Which of two equal ways of computing is taken: compiled by numba, or numpy and scipy alone."""

import os
from functools import cache
from importlib.util import find_spec

from medfed.evaluation.checks import checked_choice

__all__ = ["VARIABLE", "backend", "compiled"]

VARIABLE = "MEDFED_EVALUATION_BACKEND"


@cache
def _numba_is_there() -> bool:
    return find_spec("numba") is not None


def backend() -> str:
    """The way in use: `numba` where it is installed, unless the variable asks for `numpy`.

    Raises:
        InputError: the variable holds another word.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted:
        checked_choice(wanted, ("numba", "numpy"), VARIABLE)
    return "numba" if wanted != "numpy" and _numba_is_there() else "numpy"


def compiled() -> bool:
    """Whether the compiled way is in use."""
    return backend() == "numba"
