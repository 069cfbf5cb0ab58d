"""The templates filled: numbers and figures in, HTML text out. Everything but our own SVG is escaped."""

import math
from importlib import resources
from typing import Any

from medfed.evaluation.folders.evaluate import FolderResult

__all__ = ["number", "rendered", "segmentation_page"]


def rendered(template: str, context: dict[str, Any]) -> str:
    """A page of this folder's template."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = resources.files("medfed.evaluation.pages")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
    )  # fmt: skip
    environment.filters["number"] = number
    return environment.get_template(template).render(context)


def number(value: float) -> str:
    """A score for people: four significant digits; what is undefined or infinite by a sign.

    >>> number(0.98765), number(float("inf")), number(float("nan"))
    ('0.9877', '∞', '–')
    """
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0 or 1e-4 <= abs(value) < 1e4:
        return f"{value:.4f}" if abs(value) < 1 else f"{value:.4g}"
    return f"{value:.3e}"


def segmentation_page(result: FolderResult, *, title: str, overlays: int = 6) -> str:
    """The page of a folder evaluation.

    Args:
        result: the evaluation.
        title: heading.
        overlays: how many of the worst cases are drawn.
    """
    from medfed.evaluation.folders.metrics import metrics_of
    from medfed.evaluation.folders.results import definitions, versions
    from medfed.evaluation.pages import overlays as pictures
    from medfed.evaluation.pages.segmentation_figures import agreement_plots, box_plots, length_unit

    metrics = {m.name: m for m in metrics_of(result.settings.kind, result.settings.presets)}
    settings = result.settings
    context: dict[str, Any] = {
        "title": title, "verb": "segmentation", "facts": _facts(result), "tiles": _tiles(result),
        "cases": len(result.results), "failed": result.failed,
        "penalty": f"{settings.penalty_mm:g} mm" if settings.penalty_mm else "the image's diagonal",
        "extra": [path.name for path in result.pairing.extra], "ambiguous": result.pairing.ambiguous,
        "patients": len({r.patient for r in result.results}),
        "own_patients": all(r.patient == r.case for r in result.results),
        "unit": length_unit(result), "regions": _regions(result, metrics),
        "boxes": box_plots(result), "agreement": agreement_plots(result),
        "what": "object counts" if settings.kind == "instances" else "volumes",
        "overlays": pictures.overlays(result, count=overlays),
        "rank": metrics_of(settings.kind)[0].title, "warnings": _warnings(result),
        "definitions": definitions(settings) | {"tolerance_mm": settings.tolerance_mm},
        "settings": settings.public(), "versions": versions(),
    }  # fmt: skip
    return rendered("segmentation.html", context)


def _facts(result: FolderResult) -> str:
    scored = len(result.results) - len(result.failed)
    kinds = {
        "labels": "each label and region",
        "binary": "foreground against background",
        "instances": "objects",
    }
    return f"{scored} of {len(result.results)} cases scored · {kinds[result.settings.kind]}"


def _tiles(result: FolderResult) -> list[tuple[str, str, str]]:
    """The main scores of the first region, or their mean over regions where there are several."""
    from medfed.evaluation.folders.metrics import metrics_of

    tiles = []
    for metric in metrics_of(result.settings.kind):
        lines = [line for line in result.lines if line.metric == metric.name]
        if not metric.main or not lines:
            continue
        if len(lines) == 1:
            line = lines[0]
            below = f"{number(line.low)} to {number(line.high)}, 95 %"
            tiles.append((f"{metric.title}, mean", number(line.mean_worst_case), below))
        else:
            means = [x.mean_worst_case for x in lines if not math.isnan(x.mean_worst_case)]
            mean = sum(means) / len(means) if means else math.nan
            tiles.append((f"{metric.title}, mean", number(mean), f"over {len(means)} regions"))
    return tiles


def _regions(result: FolderResult, metrics: dict[str, Any]) -> list[tuple[str, str, list[Any]]]:
    grouped: dict[str, list[Any]] = {}
    outcomes: dict[str, str] = {}
    for line in result.lines:
        grouped.setdefault(line.region, []).append((metrics[line.metric].title, line))
        outcomes[line.region] = ", ".join(
            f"{count} {word.replace('_', ' ')}" for word, count in line.outcomes.items()
        )
    return [(region, outcomes[region], lines) for region, lines in grouped.items()]


def _warnings(result: FolderResult) -> list[tuple[str, list[str]]]:
    found: dict[str, list[str]] = {}
    for case in result.results:
        for text in case.warnings:
            found.setdefault(text, []).append(case.case)
    return sorted(found.items(), key=lambda item: -len(item[1]))
