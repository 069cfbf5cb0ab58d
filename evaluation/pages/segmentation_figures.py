"""Box plots of scores and Bland-Altman plots of volumes.

Axes: N cases.
"""

from collections.abc import Sequence

import numpy as np

from medfed.evaluation.folders.case import CaseResult
from medfed.evaluation.folders.evaluate import FolderResult
from medfed.evaluation.folders.metrics import Metric, metrics_of
from medfed.evaluation.folders.summary import region_names, values_of
from medfed.evaluation.pages.drawing import COLOURS, INK, SOFT, figure, svg

__all__ = ["agreement_plots", "box_plots", "sizes"]

MANY = 24  # regions in a figure; more are told apart by nobody
PLOTS = 6  # Bland-Altman plots on a page
LIMIT = 1.96  # standard deviations between which 95 % of normal differences lie


def box_plots(result: FolderResult) -> list[tuple[str, str]]:
    """Title and SVG of each main score, one row a region."""
    regions = region_names(result.results, result.settings)[:MANY]
    drawn = []
    for metric in metrics_of(result.settings.kind, result.settings.presets):
        values = [values_of(result.results, region, metric) for region in regions]
        if metric.main and any((~np.isnan(v)).any() for v in values):
            drawn.append((metric.title, _boxes(metric, regions, values, result)))
    return drawn


def _boxes(
    metric: Metric, regions: Sequence[str], values: Sequence[np.ndarray], result: FolderResult
) -> str:
    fig, (ax,) = figure(9.0, 0.85 + 0.4 * len(regions))
    places = np.arange(len(regions), 0, -1)
    finite = [v[np.isfinite(v)] for v in values]
    ax.boxplot(
        [v if v.size else [np.nan] for v in finite], positions=places, orientation="horizontal",
        widths=0.5, showfliers=False, patch_artist=True, manage_ticks=False,
        boxprops={"facecolor": "#dbe7f5", "edgecolor": COLOURS[0]},
        medianprops={"color": COLOURS[0], "linewidth": 2},
        whiskerprops={"color": SOFT}, capprops={"color": SOFT},
    )  # fmt: skip
    scatter = np.random.default_rng(0)  # spreads points that would cover each other; no statistics
    for place, v, given in zip(places, finite, values, strict=True):
        ax.plot(
            v, place + scatter.uniform(-0.16, 0.16, v.size), "o", ms=3.2, alpha=0.55, color=INK,
            mec="none",
        )  # fmt: skip
        if missed := int(np.isposinf(given).sum()):
            ax.text(
                1.01, float(place), f"∞ × {missed}", transform=ax.get_yaxis_transform(), va="center",
                fontsize=9, color=COLOURS[1],
            )  # fmt: skip
    ax.set_yticks(places, regions, parse_math=False)
    ax.set_ylim(0.4, len(regions) + 0.6)
    if metric.unit == "share":
        ax.set_xlim(-0.02, 1.02)
    else:
        ax.set_xlim(left=0)
    ax.set_xlabel(metric.title + ("" if metric.unit == "share" else f", {length_unit(result)}"))
    ax.grid(axis="x", color="#e5e9ef", linewidth=0.8)
    ax.set_axisbelow(True)
    return svg(fig, f"Box plot of {metric.title} by region")


def length_unit(result: FolderResult) -> str:
    """The unit of distances."""
    known = {bool(r.spacing_mm) for r in result.results if r.status == "scored"}
    return "mm" if known == {True} else "pixels" if known == {False} else "mm or pixels"


def sizes(
    results: Sequence[CaseResult], region: str, kind: str
) -> tuple[np.ndarray, np.ndarray, str]:
    """Predicted and true size of a region in each scored case, and the unit."""
    rows = [(r, r.regions[region]) for r in results if region in r.regions]
    if kind == "instances":
        return _pairs([(row["pred_objects"], row["ref_objects"]) for _, row in rows], "objects")
    unit, factor = _size_unit([r for r, _ in rows])
    pairs = [(row["pred_volume"] * factor, row["ref_volume"] * factor) for _, row in rows]
    return _pairs(pairs, unit)


def _pairs(pairs: Sequence[tuple[float, float]], unit: str) -> tuple[np.ndarray, np.ndarray, str]:
    table = np.array(pairs, np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1], unit


def _size_unit(results: Sequence[CaseResult]) -> tuple[str, float]:
    if not all(r.spacing_mm for r in results):
        return "pixels", 1.0
    flat = any(len(r.shape) == 2 for r in results)
    return ("mm²", 1.0) if flat else ("ml", 1e-3)


def agreement_plots(result: FolderResult) -> list[tuple[str, str]]:
    """Title and SVG of each region's Bland-Altman plot.

    Source: Bland and Altman 1986.
    """
    drawn: list[tuple[str, str]] = []
    for region in region_names(result.results, result.settings):
        pred, ref, unit = sizes(result.results, region, result.settings.kind)
        if pred.size > 1 and (pred.any() or ref.any()) and len(drawn) < PLOTS:
            drawn.append((region, _agreement(region, pred, ref, unit)))
    return drawn


def _agreement(region: str, pred: np.ndarray, ref: np.ndarray, unit: str) -> str:
    difference, middle = pred - ref, (pred + ref) / 2
    bias, spread = float(difference.mean()), float(difference.std(ddof=1))
    fig, (ax,) = figure(4.6, 3.3)
    ax.plot(middle, difference, "o", ms=4, alpha=0.65, color=COLOURS[0], mec="none")
    ax.axhline(0, color=SOFT, linewidth=0.8)
    for place, dash in ((bias, "-"), (bias - LIMIT * spread, "--"), (bias + LIMIT * spread, "--")):
        ax.axhline(place, color=COLOURS[1], linewidth=1.1, linestyle=dash)
        ax.text(
            1.01, place, f"{place:.3g}", transform=ax.get_yaxis_transform(), va="center", fontsize=8,
            color=COLOURS[1],
        )  # fmt: skip
    ax.set_xlabel(f"mean of prediction and reference, {unit}", fontsize=9)
    ax.set_ylabel(f"prediction − reference, {unit}", fontsize=9)
    return svg(fig, f"Bland-Altman plot of {region}: mean difference {bias:.3g} {unit}")
