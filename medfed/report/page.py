"""The report: a run folder in, one self-contained report.html out.

The page loads nothing from anywhere and runs no script; its policy forbids both.
"""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from medfed.report import run_figures, score_figures
from medfed.report.reading import RunRecord, read_run
from medfed.report.records import MEAN, WHOLE, Metric
from medfed.report.run_folder import RunFolder
from medfed.report.statements import (
    LOAD,
    PHANTOM_WARNING,
    model_card,
    privacy_markdown,
    privacy_paragraphs,
    what_left,
)
from medfed.report.wording import (
    duration,
    headline,
    interval,
    number,
    order,
    score_name,
    size,
    teacher,
    title,
)

__all__ = ["build_report", "page_of"]

# Words for a receipt where its status is not the word itself.
MARKS = {"answered": "✓", "dead": "lost", "not_asked": "–"}


def build_report(path: Path) -> Path:
    """Write report.html, privacy.md and the student's model card of a run, finished or not.

    Args:
        path: the run folder.

    Returns:
        The path of report.html.

    Raises:
        RunFolderError: no run, a damaged record, or a folder that cannot be written.
    """
    folder, record = RunFolder.open(path), read_run(path)
    folder.write("privacy.md", privacy_markdown(record))
    if (path / "student").is_dir():
        folder.write("student/model_card.md", model_card(record))
    return folder.write("report.html", page_of(record))


def page_of(record: RunRecord) -> str:
    """The page as one HTML text; the same record always gives the same text."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        size=size, duration=duration, interval=interval, number=number, title=title
    )
    here = resources.files("medfed.report")
    template = environment.from_string((here / "report.html").read_text(encoding="utf-8"))
    css = (here / "report.css").read_text(encoding="utf-8")
    return template.render(css=css, **_values(record))


def _values(record: RunRecord) -> Mapping[str, Any]:
    facts = record.facts
    return {
        "r": record,
        "facts": facts,
        "headline": headline(record),
        "score": score_name(record)[2],
        "phantom": PHANTOM_WARNING if facts.synthetic else "",
        "tiles": _tiles(record),
        "figures": _figures(record),
        "scores": _score_table(record),
        "mapping": _mapping_table(record),
        "ignored": _ignored(record),
        "bytes": run_figures.site_bytes(record),
        "wire": _wire_table(record),
        "privacy": privacy_paragraphs(record),
        "left": what_left(record),
        "attendance": _attendance(record),
        "load": LOAD,
        "has_student": (record.path / "student" / "model.safetensors").exists(),
        "wall": _server_seconds(record),
    }


def _figures(record: RunRecord) -> dict[str, Any]:
    from markupsafe import Markup

    drawn = {
        "models": score_figures.model_figure(record),
        "classes": score_figures.class_figure(record),
        "roc": score_figures.roc_figure(record),
        "coverage": run_figures.coverage_figure(record),
        "distillation": run_figures.distillation_figure(record),
        "wire": run_figures.wire_figure(record),
        "phases": run_figures.phase_figure(record),
    }
    # Canvas escapes every text that it draws.
    return {name: Markup(svg) for name, svg in drawn.items()}  # noqa: S704


def _tiles(record: RunRecord) -> list[tuple[str, str, str, str]]:
    """Role, name, number and a line below it, for the numbers at the top of the page."""
    found, head = [], headline(record)
    name = score_name(record)[2]
    for role, what, m in (
        ("student", "Student", head.student),
        ("teacher", "Its teacher, the ensemble", head.teacher),
        ("site", "Best site alone", head.best_site),
    ):
        if m is not None:
            found.append(
                (role, what, number(m.value), interval(m).replace(number(m.value), name, 1))
            )
    sent = [up for _, up in run_figures.site_bytes(record).values()]
    if sent:
        below = "for the whole run, largest site"
        if record.facts.student_bytes:
            share = record.facts.student_bytes / max(sent)
            below += f"; one round of weight averaging sends {share:,.0f} times that"
        found.append(("plain", "Sent by a site", size(max(sent)), below))
    return found


def _server_seconds(record: RunRecord) -> float:
    return sum(p.seconds for p in record.phases if p.party == "server")


def _score_table(record: RunRecord) -> dict[str, Any]:
    """Rows: summary scores, then classes. Columns: models."""
    models = sorted({m.model for m in record.metrics}, key=order)
    found: dict[tuple[str, str], dict[str, Metric]] = {}
    for m in record.metrics:
        found.setdefault((m.label, m.metric), {})[m.model] = m
    names = {(MEAN, "auroc"): "mean AUROC", (WHOLE, "accuracy"): "accuracy"}
    first = [k for k in ((WHOLE, "accuracy"), (MEAN, "auroc")) if k in found]
    rest = [(c, "auroc") for c in record.facts.classes if (c, "auroc") in found]
    rows = [
        (names.get(k, k[0]), k in first, [found[k].get(m) for m in models]) for k in [*first, *rest]
    ]
    roles = [score_figures.role_of(m, record) for m in models]
    return {
        "models": list(zip(models, roles, strict=True)),
        "rows": rows,
        "teacher": teacher(record),
    }


def _mapping_table(record: RunRecord) -> dict[str, Any]:
    """Which source labels of every dataset kind stand behind each class."""
    kinds = sorted(record.facts.mapping)
    rows = [
        (
            c,
            c in record.facts.dropped,
            [", ".join(s for s, t in record.facts.mapping[k].items() if t == c) for k in kinds],
        )
        for c in record.facts.classes
    ]
    return {"kinds": kinds, "rows": rows}


def _ignored(record: RunRecord) -> dict[str, str]:
    found = {
        k: ", ".join(s for s, t in v.items() if not t)
        for k, v in sorted(record.facts.mapping.items())
    }
    return {k: text for k, text in found.items() if text}


def _wire_table(record: RunRecord) -> list[tuple[str, str, int, int, int]]:
    """Direction, kind, messages, all bytes and payload bytes, over all sites."""
    found: dict[tuple[str, str], list[int]] = {}
    for row in record.wire:
        sums = found.setdefault((row.direction, row.kind), [0, 0, 0])
        for i, value in enumerate((1, row.total_bytes, row.payload_bytes)):
            sums[i] += value
    return [(d, k, *map(int, sums)) for (d, k), sums in sorted(found.items())]  # type: ignore[misc]


def _attendance(record: RunRecord) -> dict[str, Any]:
    """Sites by phases: the receipts as one table."""
    phases = list(dict.fromkeys(r.phase for r in record.receipts))
    sites = sorted({r.site for r in record.receipts} | set(record.facts.sites))
    found = {(r.site, r.phase): r for r in record.receipts}
    rows = []
    for site in sites:
        own = [found.get((site, p)) for p in phases]
        versions = {k: v for r in own if r is not None for k, v in r.versions.items()}
        cells = [("", "–") if r is None else (r.status, MARKS.get(r.status, r.status)) for r in own]
        rows.append((site, cells, ", ".join(f"{k} {v}" for k, v in versions.items())))
    return {"phases": phases, "rows": rows}
