"""Figures as SVG text: drawn by matplotlib without a screen, words kept as words."""

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["COLOURS", "INK", "PRED", "REF", "SOFT", "figure", "svg"]

INK, SOFT = "#1d2733", "#8492a3"
REF, PRED = "#0a7d5a", "#d9480f"  # apart in lightness too, for readers who do not see red and green
COLOURS = ("#2563a8", "#d9480f", "#0a7d5a", "#8b3fa0", "#b7791f", "#0b7285", "#a61e4d", "#495057")


def figure(width: float, height: float, *, panels: int = 1) -> tuple["Figure", list["Axes"]]:
    """An empty figure with panels side by side.

    Args:
        width: in inches of 72 units.
        height: likewise.
        panels: how many axes.
    """
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), layout="constrained")
    axes = [fig.add_subplot(1, panels, i + 1) for i in range(panels)]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(SOFT)
        ax.tick_params(colors=INK, labelsize=9)
    return fig, axes


def svg(fig: "Figure", label: str) -> str:
    """The figure as an <svg> element that a screen reader calls `label`."""
    import matplotlib as mpl

    # A salt a figure: ids of several figures in one page must not meet.
    style: Any = {
        "svg.fonttype": "none", "svg.hashsalt": label, "font.family": "sans-serif",
        "font.sans-serif": ["Helvetica", "Arial", "DejaVu Sans"],
    }  # fmt: skip
    text = io.StringIO()
    with mpl.rc_context(style):
        fig.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    drawn = text.getvalue()
    from html import escape

    start = drawn.index("<svg") + len("<svg")
    return f'<svg role="img" aria-label="{escape(label, quote=True)}"{drawn[start:]}'
