"""Figures of scores: every model on one line, every class, every ROC curve.

Colours mean the same in all of them: grey for a site alone, blue for ensembles (the darker one
taught the student), orange for the student.
"""

import math
from collections.abc import Callable

from medfed.report.reading import RunRecord
from medfed.report.records import Metric
from medfed.report.roc import roc_points
from medfed.report.svg import Canvas, linear, ticks
from medfed.report.wording import (
    MOST_SITES_SHOWN,
    interval,
    number,
    order,
    score_name,
    shown_models,
    teacher,
    title,
)

__all__ = ["class_figure", "model_figure", "roc_figure", "role_of"]

Place = Callable[[float], float]  # a value in, a pixel out
WIDTH = 760.0
LABELS = 226.0  # room for names on the left
NUMBERS = 172.0  # room for values on the right
CHANCE = 0.5  # AUROC of guessing
PANEL, GAP, PANELS_A_ROW = 154.0, 48.0, 4


def role_of(model: str, record: RunRecord) -> str:
    """The CSS class of a model: site, ensemble, teacher or student."""
    if model == teacher(record):
        return "teacher"
    return model.partition("/")[0]


def model_figure(record: RunRecord) -> str:
    """Every model's main score with its interval, one line each."""
    models = shown_models(record)
    if not models:
        return ""
    metric, _, name = score_name(record)
    low, high = _range([m for _, m in models], chance=metric == "auroc")
    place = linear(low, high, LABELS, WIDTH - NUMBERS)
    row, top = 26.0, 8.0
    bottom = top + row * len(models)
    canvas = Canvas(WIDTH, bottom + 38, f"{name} of every model with its 95 % interval")
    _axis(canvas, place, ticks(low, high), top, bottom, name)
    for i, (text, m) in enumerate(models):
        y = top + row * (i + 0.5)
        role = role_of(m.model, record)
        canvas.text(LABELS - 14, y + 4, text, f"name {role}", anchor="end")
        canvas.text(WIDTH - NUMBERS + 16, y + 4, interval(m), f"value {role}")
        if not math.isnan(m.value):
            _whisker(canvas, place, m, y, role)
            canvas.dot(place(m.value), y, 5, f"fill {role}", f"{text}: {interval(m)}")
    return canvas.svg()


def class_figure(record: RunRecord) -> str:
    """AUROC of every class: the student as a bar from chance, teacher and sites as marks."""
    table = {(m.model, m.label): m for m in record.metrics if m.metric == "auroc"}
    classes = [c for c in _scored_classes(record) if ("student", c) in table]
    if not classes:
        return ""
    shown = [m for m in table.values() if m.label in classes]
    low, high = _range(shown, chance=True)
    place = linear(low, high, LABELS, WIDTH - NUMBERS)
    row, top = 26.0, 8.0
    bottom = top + row * len(classes)
    canvas = Canvas(WIDTH, bottom + 38, "AUROC of every class with the student's 95 % interval")
    _axis(canvas, place, ticks(low, high), top, bottom, "AUROC")
    for i, name in enumerate(classes):
        y = top + row * (i + 0.5)
        canvas.text(LABELS - 14, y + 4, name, "name", anchor="end")
        _class_row(canvas, place, {k[0]: m for k, m in table.items() if k[1] == name}, y, record)
    canvas.line(place(CHANCE), top, place(CHANCE), bottom, "chance")
    return canvas.svg()


def roc_figure(record: RunRecord) -> str:
    """One panel a class with every model's ROC curve."""
    scores = record.scores
    if scores is None or not scores.models:
        return ""
    positives = (scores.labels == 1).sum(axis=0)
    kept = _scored_classes(record)
    shown = [c for c, name in enumerate(record.facts.classes) if name in kept and positives[c]]
    rows = math.ceil(len(shown) / PANELS_A_ROW)
    canvas = Canvas(
        PANELS_A_ROW * (PANEL + GAP) - 4, max(1, rows) * (PANEL + 62), "ROC curves of every class"
    )
    for i, c in enumerate(shown):
        x = GAP - 10 + (i % PANELS_A_ROW) * (PANEL + GAP)
        y = 24 + (i // PANELS_A_ROW) * (PANEL + 62)
        _roc_panel(canvas, record, c, x, y, first=i % PANELS_A_ROW == 0)
    return canvas.svg()


def _scored_classes(record: RunRecord) -> list[str]:
    return [c for c in record.facts.classes if c not in record.facts.dropped]


def _roc_panel(
    canvas: Canvas, record: RunRecord, c: int, x: float, y: float, *, first: bool
) -> None:
    scores = record.scores
    if scores is None:
        return
    across, up = linear(0, 1, x, x + PANEL), linear(0, 1, y + PANEL, y)
    canvas.bar(x, y, PANEL, PANEL, "panel")
    canvas.path([(x, y + PANEL), (x + PANEL, y)], "chance")
    for tick in (0.0, 0.5, 1.0):
        canvas.text(across(tick), y + PANEL + 14, f"{tick:g}", "tick", anchor="middle")
        if first:
            canvas.text(x - 6, up(tick) + 4, f"{tick:g}", "tick", anchor="end")
    canvas.text(x, y - 8, record.facts.classes[c], "panel-title")
    models = sorted(scores.models, key=order)
    if sum(m.startswith("site/") for m in models) > MOST_SITES_SHOWN:
        models = [m for m in models if not m.startswith("site/")]
    for model in models:
        curve = roc_points(scores.models[model][:, c], scores.labels[:, c])
        if curve is not None:
            points = [(across(a), up(h)) for a, h in curve]
            canvas.path(points, f"line {role_of(model, record)}", title(model))
    found = {(m.model, m.label): m for m in record.metrics if m.metric == "auroc"}
    student = found.get(("student", record.facts.classes[c]))
    if student is not None:
        text = f"{number(student.value, 2)} · {student.positives} pos."
        canvas.text(x + PANEL - 6, y + PANEL - 8, text, "note", anchor="end")


def _class_row(
    canvas: Canvas, place: Place, models: dict[str, Metric], y: float, record: RunRecord
) -> None:
    student = models["student"]
    if not math.isnan(student.value):
        ends = sorted((place(CHANCE), place(student.value)))
        tip = f"student: {interval(student)}"
        canvas.bar(ends[0], y - 7, ends[1] - ends[0], 14, "fill student soft", tip)
    sites = {k: m for k, m in models.items() if k.startswith("site/") and not math.isnan(m.value)}
    if len(sites) <= MOST_SITES_SHOWN:
        for name, m in sites.items():
            canvas.dot(place(m.value), y, 3, "fill site", f"{title(name)}: {number(m.value)}")
    if not math.isnan(student.value):
        _whisker(canvas, place, student, y, "student")
    taught = models.get(teacher(record))
    if taught is not None and not math.isnan(taught.value):
        canvas.diamond(
            place(taught.value), y, 5, "fill teacher", f"{title(taught.model)}: {interval(taught)}"
        )
    canvas.text(WIDTH - NUMBERS + 16, y + 4, interval(student), "value")


def _whisker(canvas: Canvas, place: Place, m: Metric, y: float, role: str) -> None:
    if math.isnan(m.low):
        return
    canvas.line(place(m.low), y, place(m.high), y, f"whisker {role}")
    for end in (m.low, m.high):
        canvas.line(place(end), y - 4, place(end), y + 4, f"whisker {role}")


def _axis(
    canvas: Canvas, place: Place, values: list[float], top: float, bottom: float, name: str
) -> None:
    for value in values:
        canvas.line(place(value), top, place(value), bottom, "grid")
        canvas.text(place(value), bottom + 16, f"{value:g}", "tick", anchor="middle")
    canvas.text(
        (place(values[0]) + place(values[-1])) / 2, bottom + 33, name, "axis", anchor="middle"
    )


def _range(metrics: list[Metric], *, chance: bool) -> tuple[float, float]:
    """Axis limits in whole tenths that hold every value, every interval and chance."""
    values = [v for m in metrics for v in (m.value, m.low, m.high) if not math.isnan(v)]
    values += [CHANCE] if chance else []
    if not values:
        return 0.0, 1.0
    low, high = math.floor(min(values) * 10) / 10, math.ceil(max(values) * 10 - 1e-9) / 10
    return max(0.0, low), min(1.0, max(high, low + 0.1))
