"""Tables for a terminal: the scores, the wire and the time of a run."""

from typing import TYPE_CHECKING

from medfed.report.reading import RunRecord, read_run
from medfed.report.records import MEAN, Metric
from medfed.report.run_figures import phase_seconds, site_bytes
from medfed.report.statements import PHANTOM_WARNING
from medfed.report.wording import (
    MOST_SITES_SHOWN,
    duration,
    headline,
    interval,
    number,
    score_name,
    shown_models,
    size,
)

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

__all__ = ["class_table", "phase_table", "print_run", "score_table", "wire_table"]


def print_run(path: "Path", console: "Console") -> None:
    """Print a run's results: what it lacks first, then scores, classes, bytes and seconds."""
    record = read_run(path)
    if record.facts.synthetic:
        console.print(f"\n  {PHANTOM_WARNING}  \n", style="black on yellow", highlight=False)
    if record.partial:
        lacks = _plain("; ".join(record.shortfalls[:MOST_SITES_SHOWN]))
        console.print(f"[bold red]This run is partial:[/] {lacks}", highlight=False)
    console.print(headline(record).text, highlight=False, markup=False)
    for table in (
        score_table(record),
        class_table(record),
        wire_table(record),
        phase_table(record),
    ):
        if table.row_count:
            console.print()
            console.print(table)


def score_table(record: RunRecord) -> "Table":
    """Main score and interval of every model, one a line."""
    metric, _, name = score_name(record)
    table = _table(_called(record, f"{name[0].upper()}{name[1:]} [95 % interval]"), "model", name)
    if metric == "accuracy":
        table.add_column("mean AUROC", justify="right")
    means = {m.model: m for m in record.metrics if (m.label, m.metric) == (MEAN, "auroc")}
    for text, m in shown_models(record):
        cells = [interval(m)]
        if metric == "accuracy":
            cells.append(interval(means[m.model]) if m.model in means else "–")
        style = "bold" if m.model == "student" else None
        table.add_row(_plain(text), *cells, style=style)
    return table


def class_table(record: RunRecord) -> "Table":
    """AUROC of every class by model; many sites become three of them."""
    models = [(text, m.model) for text, m in shown_models(record)]
    found = {(m.label, m.model): m for m in record.metrics if m.metric == "auroc"}
    table = _table(_called(record, "AUROC per class"), "class", *[_short(t) for t, _ in models])
    for name in record.facts.classes:
        row: list[Metric | None] = [found.get((name, model)) for _, model in models]
        if any(row) and name not in record.facts.dropped:
            table.add_row(_plain(name), *["–" if m is None else number(m.value) for m in row])
    if record.facts.dropped:
        table.caption = _plain(f"no site reported a case of: {', '.join(record.facts.dropped)}")
        table.caption_justify = "left"
    return table


def wire_table(record: RunRecord) -> "Table":
    """Bytes down to and up from every site."""
    rows = site_bytes(record)
    weights = record.facts.student_bytes
    against = ["weight averaging, one round up"] if weights else []
    table = _table(_called(record, "Bytes on the wire"), "site", "down", "up", *against)
    for site, (down, up) in list(rows.items())[:MOST_SITES_SHOWN]:
        table.add_row(_plain(site), size(down), size(up), *([size(weights)] if weights else []))
    if len(rows) > MOST_SITES_SHOWN:
        total = [sum(r[i] for r in rows.values()) for i in (0, 1)]
        table.add_row(f"all {len(rows)} sites", *map(size, total), *([""] if weights else []))
    return table


def phase_table(record: RunRecord) -> "Table":
    """Seconds of every phase."""
    table = _table(_called(record, "Time"), "phase", "whose", "took")
    for phase, whose, seconds in phase_seconds(record):
        table.add_row(_plain(phase), whose, duration(seconds))
    return table


def _table(caption: str, first: str, *others: str) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(
        title=_plain(caption),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 0, 0, 1),  # eight models fit a terminal of 80 columns
    )
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(_plain(name), justify="right")
    return table


def _called(record: RunRecord, caption: str) -> str:
    return f"{caption} (partial run)" if record.partial else caption


def _short(text: str) -> str:
    for long, short in (
        ("Ensemble, weighted by", "by"),
        ("Ensemble, ", ""),
        (" alone", ""),
        ("Distilled student", "student"),
    ):
        text = text.replace(long, short)
    return text


def _plain(text: str) -> str:
    """Text in which square brackets are no markup."""
    from rich.markup import escape

    return escape(text)
