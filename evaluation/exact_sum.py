"""Sums of floating-point numbers without rounding, so that the order of adding changes nothing.

Every finite double is a whole number of 2^-1074. A sum is kept as that whole number, which Python holds
exactly however large it becomes; only reading it rounds, once.
"""

from dataclasses import dataclass
from fractions import Fraction

from medfed.evaluation.checks import InputError

__all__ = ["ExactSum"]

SMALLEST = 1074  # 2^-1074 is the smallest positive double


@dataclass(frozen=True, slots=True)
class ExactSum:
    """A sum of doubles, exact.

    Attributes:
        units: the sum in units of 2^-1074.

    >>> a = ExactSum() + 1e16 + 1.0 + -1e16
    >>> float(a), a == ExactSum() + -1e16 + 1e16 + 1.0
    (1.0, True)
    """

    units: int = 0

    def __add__(self, other: "ExactSum | float") -> "ExactSum":
        if isinstance(other, ExactSum):
            return ExactSum(self.units + other.units)
        return ExactSum(self.units + _units(other))

    def fraction(self) -> Fraction:
        """The sum as a fraction."""
        return Fraction(self.units, 1 << SMALLEST)

    def __float__(self) -> float:
        return float(self.fraction())

    def mean(self, count: int) -> float:
        """The sum over a count, rounded once; nan where the count is 0."""
        return float(self.fraction() / count) if count else float("nan")


def _units(value: float) -> int:
    try:
        top, bottom = float(value).as_integer_ratio()
    except (OverflowError, ValueError):
        raise InputError(f"{value} cannot be summed; count it instead.") from None
    return (top << SMALLEST) // bottom
