"""Sums of case scores: what a site may give away instead of its cases.

Two sites' sums merge by addition. All of it is whole numbers, so that merging in any order gives the
same bits, and the mean equals that over all cases at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import isinf, isnan, sqrt
from typing import Any

from medfed.evaluation.checks import InputError
from medfed.evaluation.exact_sum import ExactSum

__all__ = ["ScoreSums", "merged"]

ZERO = ExactSum()
DIGITS = 1000  # of a sum: 2^2098 units and a count of 2^63 stay far below


@dataclass(frozen=True, slots=True)
class ScoreSums:
    """Sums of one score over cases.

    Attributes:
        finite: cases with a finite score.
        infinite: cases with an infinite distance, one side being empty.
        undefined: cases without a score, both sides being empty.
        total: sum of the finite scores.
        squares: sum of their squares, each rounded to a double once.
    """

    finite: int = 0
    infinite: int = 0
    undefined: int = 0
    total: ExactSum = ZERO
    squares: ExactSum = ZERO

    def add(self, score: float) -> "ScoreSums":
        """The sums with one case more."""
        if isnan(score):
            return replace(self, undefined=self.undefined + 1)
        if isinf(score):
            return replace(self, infinite=self.infinite + 1)
        return replace(
            self, finite=self.finite + 1, total=self.total + score,
            squares=self.squares + score * score,
        )  # fmt: skip

    def merge(self, other: "ScoreSums") -> "ScoreSums":
        """The sums of both sides' cases."""
        return ScoreSums(
            *(getattr(self, f.name) + getattr(other, f.name) for f in fields(ScoreSums))
        )

    def mean(self, *, penalty: float | None = None) -> float:
        """Mean over cases; nan where there is none.

        Args:
            penalty: what an infinite score counts; None leaves infinite scores out.
        """
        if penalty is None:
            return self.total.mean(self.finite)
        whole = self.total.fraction() + Fraction(penalty) * self.infinite
        count = self.finite + self.infinite
        return float(whole / count) if count else float("nan")

    def std(self) -> float:
        """Standard deviation of the finite scores, over n - 1; nan for fewer than two."""
        n = self.finite
        if n < 2:
            return float("nan")
        variance = (self.squares.fraction() - self.total.fraction() ** 2 / n) / (n - 1)
        return sqrt(max(float(variance), 0.0))

    def as_json(self) -> dict[str, Any]:
        """JSON scalars; sums as decimal text, as they outgrow what JSON readers hold."""
        return {
            "finite": self.finite, "infinite": self.infinite, "undefined": self.undefined,
            "total": str(self.total.units), "squares": str(self.squares.units),
        }  # fmt: skip

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "ScoreSums":
        """The sums behind as_json.

        Raises:
            InputError: a field is missing, or no whole number.
        """
        try:
            finite, infinite, undefined = (
                _count(stored[name]) for name in ("finite", "infinite", "undefined")
            )
            total, squares = (ExactSum(_units(stored[name])) for name in ("total", "squares"))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"these are no sums of scores ({error}).") from None
        return cls(finite, infinite, undefined, total, squares)


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def _units(value: object) -> int:
    if not isinstance(value, str) or len(value) > DIGITS:
        raise ValueError("a sum is text of at most a thousand digits")
    return int(value)


def merged(parts: Iterable[ScoreSums]) -> ScoreSums:
    """The sums of all parts, in any order.

    >>> site_a, site_b = ScoreSums().add(0.1).add(0.2), ScoreSums().add(0.3)
    >>> merged([site_a, site_b]) == merged([site_b, site_a])
    True
    """
    whole = ScoreSums()
    for part in parts:
        whole = whole.merge(part)
    return whole
