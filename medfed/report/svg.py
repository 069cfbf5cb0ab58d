"""Drawing: a small SVG canvas whose text is escaped and whose numbers are rounded.

Colours, strokes and fonts are classes of report.css, so print and screen share one place to style
them; a figure needs no script, no font file and no plotting library.
"""

import html
import math
from collections.abc import Callable, Iterable

__all__ = ["Canvas", "linear", "ticks"]


class Canvas:
    """One figure in pixels, origin at the top left.

    Args:
        width: of the drawing.
        height: of the drawing.
        description: what a reader who cannot see the figure should know.
    """

    def __init__(self, width: float, height: float, description: str) -> None:
        self.width, self.height = width, height
        self._parts = [f"<title>{html.escape(description)}</title>"]

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        """A straight line."""
        ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
        self._parts.append(f'<line {ends} class="{css}"/>')

    def bar(self, x: float, y: float, width: float, height: float, css: str, tip: str = "") -> None:
        """A filled rectangle."""
        box = f'x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 0))}" height="{_n(height)}"'
        self._parts.append(_tipped("rect", f'{box} class="{css}"', tip))

    def dot(self, x: float, y: float, radius: float, css: str, tip: str = "") -> None:
        """A filled circle."""
        self._parts.append(
            _tipped("circle", f'cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" class="{css}"', tip)
        )

    def diamond(self, x: float, y: float, radius: float, css: str, tip: str = "") -> None:
        """A square on its corner."""
        r = radius
        corners = _pairs([(x, y - r), (x + r, y), (x, y + r), (x - r, y)])
        self._parts.append(_tipped("polygon", f'points="{corners}" class="{css}"', tip))

    def path(self, points: Iterable[tuple[float, float]], css: str, tip: str = "") -> None:
        """Straight lines through points."""
        self._parts.append(_tipped("polyline", f'points="{_pairs(points)}" class="{css}"', tip))

    def text(self, x: float, y: float, text: str, css: str = "", *, anchor: str = "start") -> None:
        """One line of text; `anchor` is start, middle or end."""
        where = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" class="{css}"'
        self._parts.append(f"<text {where}>{html.escape(text)}</text>")

    def svg(self) -> str:
        """The figure as one SVG element, to stand in a page."""
        box = f'viewBox="0 0 {_n(self.width)} {_n(self.height)}"'
        return f'<svg {box} role="img">{"".join(self._parts)}</svg>'


def linear(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Maps [low, high] to pixels from start to end; values outside go to the nearer end."""
    span = (high - low) or 1.0

    def place(value: float) -> float:
        share = min(1.0, max(0.0, (value - low) / span))
        return start + share * (end - start)

    return place


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers in [low, high].

    >>> ticks(0.0, 1.0), ticks(0.0, 47.0)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 10.0, 20.0, 30.0, 40.0])
    """
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1, 2, 5, 10) if f * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _tipped(tag: str, attributes: str, tip: str) -> str:
    if not tip:
        return f"<{tag} {attributes}/>"
    return f"<{tag} {attributes}><title>{html.escape(tip)}</title></{tag}>"


def _pairs(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
