"""ROC, precision-recall and reliability curves.

Axes: N cases, C labels.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from medfed.evaluation.calibration import reliability_curve
from medfed.evaluation.classification import pr_curve, roc_curve
from medfed.evaluation.label_tables import LabelResult
from medfed.evaluation.pages.drawing import COLOURS, SOFT, figure, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["curves"]

SHOWN = 8  # labels drawn in one figure; the table has all
POINTS = 600  # of a drawn curve: more cannot be seen and make the page heavy


def curves(result: LabelResult) -> list[tuple[str, str]]:
    """Title and SVG of each kind of curve."""
    drawn = [
        ("ROC", _plot(result, _roc, "false positive rate", "true positive rate", "ROC curves"))
    ]
    pr = _plot(result, _pr, "recall", "precision", "Precision-recall curves")
    drawn.append(("Precision and recall", pr))
    if not all(np.isnan(row.brier) for row in result.rows):
        shown = _plot(result, _reliability, "probability", "share of positives", "Reliability")
        drawn.append(("Reliability", shown))
    return drawn


Drawer = Callable[["Axes", np.ndarray, np.ndarray, str, str, LabelResult], None]


def _plot(result: LabelResult, draw: Drawer, across: str, up: str, label: str) -> str:
    fig, (ax,) = figure(3.9, 4.2)
    # The most frequent labels: the curves of rare ones are steps of single cases.
    order = sorted(range(len(result.rows)), key=lambda c: -result.rows[c].positives)
    usable = [c for c in order if result.rows[c].positives and result.rows[c].negatives][:SHOWN]
    for place, c in enumerate(sorted(usable)):
        scores, targets = result.table.scores[:, c], result.table.targets[:, c]
        draw(ax, scores, targets, result.rows[c].label, COLOURS[place], result)
    if draw is not _pr:
        ax.plot([0, 1], [0, 1], color=SOFT, linewidth=0.8, linestyle="--")
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ax.set_xlabel(across, fontsize=9)
    ax.set_ylabel(up, fontsize=9)
    if usable:
        legend = ax.legend(
            fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2
        )
        for text in legend.get_texts():
            text.set_parse_math(False)
    return svg(fig, label)


def _thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kept = np.unique(np.linspace(0, len(x) - 1, min(POINTS, len(x))).astype(int))
    return x[kept], y[kept]


def _roc(
    ax: "Axes",
    scores: np.ndarray,
    targets: np.ndarray,
    label: str,
    colour: str,
    result: LabelResult,
) -> None:
    curve = roc_curve(scores, targets, uncertain=result.settings.uncertain)
    row = next(row for row in result.rows if row.label == label)
    ax.plot(
        *_thinned(curve.x, curve.y), color=colour, linewidth=1.5, label=f"{label} {row.auroc:.3f}"
    )


def _pr(
    ax: "Axes",
    scores: np.ndarray,
    targets: np.ndarray,
    label: str,
    colour: str,
    result: LabelResult,
) -> None:
    curve = pr_curve(scores, targets, uncertain=result.settings.uncertain)
    row = next(row for row in result.rows if row.label == label)
    x, y = _thinned(curve.x, curve.y)
    ax.step(x, y, where="pre", color=colour, linewidth=1.5, label=f"{label} {row.auprc:.3f}")
    ax.axhline(
        row.positives / (row.positives + row.negatives), color=colour, linewidth=0.7, linestyle=":"
    )


def _reliability(
    ax: "Axes",
    scores: np.ndarray,
    targets: np.ndarray,
    label: str,
    colour: str,
    result: LabelResult,
) -> None:
    curve = reliability_curve(scores, targets, uncertain=result.settings.uncertain)
    row = next(row for row in result.rows if row.label == label)
    filled = curve.cases > 0
    ax.plot(
        curve.predicted[filled], curve.observed[filled], "o-", ms=3.5, color=colour, linewidth=1.2,
        label=f"{label} ECE {row.calibration_error:.3f}",
    )  # fmt: skip
