"""Arguments of a network, checked before anything is allocated."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from medfed.errors import ConfigError

__all__ = ["Argument", "checked"]


@dataclass(frozen=True)
class Argument:
    """One argument: its default, its bounds and, for a list, how many numbers it may hold.

    Attributes:
        default: used when the job leaves the argument out; its type is the argument's type.
        low: smallest value, inclusive; of every number in a list.
        high: largest value, inclusive.
        longest: most numbers in a list; 0 for a single number.
    """

    default: int | float | tuple[int, ...]
    low: float
    high: float
    longest: int = 0

    def __str__(self) -> str:
        shown = list(self.default) if isinstance(self.default, tuple) else self.default
        return f"{shown} ({self.kind} {self.low:g} to {self.high:g})"

    @property
    def kind(self) -> str:
        """The argument's type in words."""
        if self.longest:
            return f"list of 1 to {self.longest} whole numbers"
        return "number" if isinstance(self.default, float) else "whole number"

    def accepts(self, value: object) -> bool:
        """Whether `value` has the type and stands within the bounds."""
        if self.longest:
            if not isinstance(value, list | tuple) or not 1 <= len(value) <= self.longest:
                return False
            return all(self._number(v, whole=True) for v in value)
        return self._number(value, whole=not isinstance(self.default, float))

    def _number(self, value: object, *, whole: bool) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            return False
        return self.low <= value <= self.high  # false for NaN


def checked(
    network: str, given: Mapping[str, Any], known: Mapping[str, Argument]
) -> dict[str, Any]:
    """All arguments of a network, the given ones checked and the others at their defaults.

    Raises:
        ConfigError: names the argument, what is allowed, and the nearest known argument.
    """
    allowed = ", ".join(known) or "none"
    for name, value in given.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ConfigError(
                f"network {network!r}: unknown argument {name!r} (allowed: {allowed}).{hint}"
            )
        if not known[name].accepts(value):
            argument = known[name]
            raise ConfigError(
                f"network {network!r}: {name} must be a {argument.kind} from {argument.low:g} "
                f"to {argument.high:g}, not {str(value)[:60]}."
            )
    defaults = {name: argument.default for name, argument in known.items()}
    return {**defaults, **given}
