"""The tables of `medfed data` in a terminal."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from medfed.data.mapping import Mapping

__all__ = ["show_mapping", "show_report"]

MOST_LISTED = 8
MARKS = {
    "error": "[bold red]stops a job[/bold red]",
    "warning": "[yellow]warning[/yellow]",
    "note": "note",
}


def show_report(report: dict[str, Any]) -> None:
    """One dataset: facts, labels, remarks, and what would be shared."""
    console = Console()
    console.rule(f"{report['alias']} ({report['kind']})", align="left")
    if report["items"]:
        console.print(_facts(report))
        console.print(_labels(report))
        _list(
            console,
            "unreadable",
            [f"{bad['case']}: {bad['reason']}" for bad in report["unreadable"]],
        )
        _list(console, "identical images", [", ".join(group) for group in report["duplicates"]])
    for remark in report["remarks"]:
        console.print(f"{MARKS[remark['level']]}: {escape(remark['text'])}")
    console.print(_sign_off(report))
    console.print()


def show_mapping(found: Mapping) -> None:
    """One dataset's labels and what they become."""
    console = Console()
    console.rule(f"{found.alias} ({found.kind}) in the vocabulary {found.task}", align="left")
    if found.source:
        table = Table(
            "label in the data", "how often", title="as the dataset writes it", title_justify="left"
        )
        for label, count in sorted(found.source.items()):
            table.add_row(escape(label or "(blank)"), str(count))
        console.print(table)
    table = Table("label", "becomes", title="mapping", title_justify="left")
    for label, name in found.becomes.items():
        table.add_row(escape(label), escape(name) or "[dim]left out[/dim]")
    console.print(table)
    if found.classes:
        table = Table(
            "class of the job",
            "positive",
            "negative",
            "unknown",
            title="result",
            title_justify="left",
        )
        for name, row in found.classes.items():
            table.add_row(
                escape(name), *(str(row[key]) for key in ("positive", "negative", "unknown"))
            )
        console.print(table)
    if found.unknown:
        console.print(f"never annotated here, so unknown: {escape(', '.join(found.unknown))}")
    console.print()


def _facts(report: dict[str, Any]) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    rows = {
        "cases": f"{report['items']} of {report['patients']} patients; {report['readable']} readable",
        "sizes": _counted(report["sizes"]),
        "stored as": _counted(report["modes"]),
        "spacing in mm": _counted(report["spacings_mm"]),
        "orientation": _counted(report["orientations"]),
        "intensity": ", ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in report["intensity"].items()
        ),
        "first epoch": f"{report['first_epoch_s']} s to read and decode ({report['images_per_s']} images/s measured)",
        "memory": f"{report['memory_mib']} MiB for all images, limit cache_mib {report['memory_limit_mib']}"
        + (
            ": the rest is read again each epoch"
            if report["memory_mib"] > report["memory_limit_mib"]
            else ""
        ),
        "contact sheet": report["sheet"] or "not written (--sheets FOLDER)",
    }
    for name, text in rows.items():
        table.add_row(f"[bold]{name}[/bold]", escape(text))
    return table


def _labels(report: dict[str, Any]) -> Table:
    table = Table(
        "class",
        "positive",
        "negative",
        "unknown",
        title=f"labels in {report['task']}",
        title_justify="left",
    )
    for name, row in report["labels"].items():
        table.add_row(escape(name), *(str(row[key]) for key in ("positive", "negative", "unknown")))
    return table


def _sign_off(report: dict[str, Any]) -> Table:
    """The only thing that would leave, so that somebody can say yes to it."""
    shared = report["shared"]
    table = Table(
        "what a job may learn",
        "value",
        title="to sign off: nothing else about this dataset leaves",
        title_justify="left",
    )
    if "if_the_job_stops" in shared:
        table.add_row("that the site stopped", shared["if_the_job_stops"])
    elif not shared:
        table.add_row("nothing", "[privacy] label_counts is false")
    else:
        table.add_row("cases", f"{shared['samples']} (to the nearest {shared['rounded_to']})")
        for name, count in shared["positives"].items():
            table.add_row(
                escape(name), f"{count} positive of {shared['annotated'][name]} annotated"
            )
    return table


def _counted(values: dict[str, int]) -> str:
    shown = [f"{value} ({count})" for value, count in list(values.items())[:MOST_LISTED]]
    more = len(values) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _list(console: Console, title: str, lines: list[str]) -> None:
    if not lines:
        return
    console.print(f"[bold]{title}[/bold]")
    for line in lines[:MOST_LISTED]:
        console.print(f"  {escape(line)}")
    if len(lines) > MOST_LISTED:
        console.print(f"  and {len(lines) - MOST_LISTED} more; --json lists all")
