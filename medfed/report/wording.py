"""Words and numbers as a reader sees them: model titles, units, and the run in one paragraph."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from medfed.report.reading import RunRecord
from medfed.report.records import MEAN, WHOLE, Metric

__all__ = [
    "MOST_SITES_SHOWN",
    "Headline",
    "duration",
    "headline",
    "interval",
    "listed",
    "number",
    "order",
    "score_name",
    "shown_models",
    "size",
    "teacher",
    "title",
]

MOST_SITES_SHOWN = 12  # more sites than this become best, middle and worst: no reader compares more
RULES = {
    "positives": "Ensemble, weighted by class",
    "annotated": "Ensemble, weighted by annotated cases",
    "samples": "Ensemble, weighted by samples",
    "uniform": "Ensemble, uniform",
}
UNITS = ("B", "kB", "MB", "GB", "TB")


def title(model: str) -> str:
    """A model's name for a reader.

    >>> title("site/north"), title("ensemble/uniform"), title("student")
    ('north alone', 'Ensemble, uniform', 'Distilled student')
    """
    group, _, name = model.partition("/")
    if group == "site":
        return f"{name} alone"
    if group == "ensemble":
        return RULES.get(name, f"Ensemble, {name}")
    return "Distilled student" if model == "student" else model


def order(model: str) -> tuple[int, str]:
    """Sorts sites before ensembles before the student."""
    group, _, name = model.partition("/")
    if group == "ensemble":
        rank = list(RULES)[::-1].index(name) if name in RULES else -1
        return 1, f"{rank:02d}{name}"
    return {"site": 0, "student": 2}.get(group, 3), name


def number(value: float, digits: int = 3) -> str:
    """A score; a dash where it is undefined."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def interval(metric: Metric, digits: int = 3) -> str:
    """A score with its 95 % interval."""
    text = number(metric.value, digits)
    if math.isnan(metric.low) or math.isnan(metric.value):
        return text
    return f"{text} [{number(metric.low, digits)}, {number(metric.high, digits)}]"


def size(count: float) -> str:
    """Bytes with a decimal unit.

    >>> size(999), size(1000), size(28_200_000)
    ('999 B', '1.00 kB', '28.2 MB')
    """
    step = 0
    while count >= 999.5 and step < len(UNITS) - 1:
        count, step = count / 1000, step + 1
    digits = 0 if step == 0 or count >= 99.95 else 1 if count >= 9.995 else 2
    return f"{count:.{digits}f} {UNITS[step]}"


def duration(seconds: float) -> str:
    """Seconds as a reader says them.

    >>> duration(0.04), duration(12.3), duration(125), duration(7260)
    ('0.04 s', '12.3 s', '2 min 05 s', '2 h 01 min')
    """
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def score_name(record: RunRecord) -> tuple[str, str, str]:
    """The run's main score: its metric, its class column, and its name for a reader."""
    if record.facts.task_kind == "single_label":
        return "accuracy", WHOLE, "accuracy"
    return "auroc", MEAN, "mean AUROC"


def shown_models(record: RunRecord) -> list[tuple[str, Metric]]:
    """Title and main score of every model to show, sites first; many sites become three of them."""
    metric, label, _ = score_name(record)
    found = {m.model: m for m in record.metrics if m.metric == metric and m.label == label}
    sites = [found[m] for m in sorted(found, key=order) if m.startswith("site/")]
    rest = [found[m] for m in sorted(found, key=order) if not m.startswith("site/")]
    if len(sites) <= MOST_SITES_SHOWN:
        return [(title(m.model), m) for m in [*sites, *rest]]
    ranked = sorted((s for s in sites if not math.isnan(s.value)), key=lambda m: m.value)
    chosen = {"worst": 0, "middle": len(ranked) // 2, "best": -1} if ranked else {}
    few = [
        (f"{title(ranked[i].model)} ({word} of {len(sites)} sites)", ranked[i])
        for word, i in chosen.items()
    ]
    return [*few, *((title(m.model), m) for m in rest)]


def teacher(record: RunRecord) -> str:
    """The model that taught the student."""
    return f"ensemble/{record.facts.weighting}"


@dataclass(frozen=True)
class Headline:
    """The result in plain words, and the models that it speaks of."""

    text: str
    student: Metric | None
    teacher: Metric | None
    best_site: Metric | None


def headline(record: RunRecord) -> Headline:
    """The result of a run in plain words; honest about intervals that overlap."""
    metric, label, name = score_name(record)
    main = {m.model: m for m in record.metrics if m.metric == metric and m.label == label}
    main = {k: m for k, m in main.items() if not math.isnan(m.value)}
    sites = [m for k, m in main.items() if k.startswith("site/")]
    student, taught_by = main.get("student"), main.get(teacher(record))
    best = max(sites, key=lambda m: m.value, default=None)
    if student is None:
        return Headline("This run holds no score of a student.", None, taught_by, best)
    facts = record.facts
    people = f" of {facts.benchmark_patients} patients" if facts.benchmark_patients else ""
    classes = len(facts.classes) - len(facts.dropped)
    over = f" over {classes} classes" if label == MEAN else ""
    start = "From a partial run: the" if record.partial else "The"
    parts = [
        f"{start} student reaches {_article(name)} {name} of {interval(student)}{over} on "
        f"{student.cases} benchmark cases{people} (in brackets: 95 % interval over resampled "
        "patients)."
    ]
    if taught_by is not None:
        parts.append(f"The ensemble that taught it reaches {number(taught_by.value)}.")
    if best is not None:
        parts.append(_against(student, best, len(sites)))
    return Headline(" ".join(parts), student, taught_by, best)


def _against(student: Metric, best: Metric, sites: int) -> str:
    name = title(best.model).removesuffix(" alone")
    start = f"The best of {sites} sites alone, {name}, reaches {number(best.value)}: "
    if _apart(student, best):
        return start + "the student is better, and the two intervals do not overlap."
    if _apart(best, student):
        return start + "the student is worse, and the two intervals do not overlap."
    return start + "the two intervals overlap, so this benchmark does not tell them apart."


def _apart(upper: Metric, lower: Metric) -> bool:
    return upper.low > lower.high  # false where an interval is missing (nan)


def _article(name: str) -> str:
    return "an" if name[0] in "aeiou" else "a"


def listed(words: Sequence[str]) -> str:
    """Words joined for a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + "".join(words[-1:])
