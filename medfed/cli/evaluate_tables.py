"""What `medfed evaluate` shows in a terminal."""

import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:
    from medfed.evaluation.compare import Comparison
    from medfed.evaluation.folders.case import CaseResult
    from medfed.evaluation.folders.evaluate import FolderResult
    from medfed.evaluation.label_tables import LabelResult

__all__ = ["Meter", "print_comparison", "print_folder", "print_labels"]


class Meter:
    """A progress bar with the time left, on the error stream; silent where that is no terminal.

    Args:
        total: cases.
    """

    def __init__(self, total: int) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            TextColumn("{task.fields[failed]}"), console=Console(stderr=True),
            disable=not sys.stderr.isatty(), transient=True,
        )  # fmt: skip
        self._task = self._bar.add_task("scoring", total=total, failed="")
        self._failed = 0

    def advance(self, result: "CaseResult", done: int, total: int) -> None:
        """One more case is done."""
        self._failed += result.status != "scored"
        failed = f"[red]{self._failed} without scores[/red]" if self._failed else ""
        self._bar.update(self._task, completed=done, total=total, failed=failed)

    def __enter__(self) -> "Meter":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()


def print_folder(result: "FolderResult", out: Path, written: list[str], *, shown: int) -> None:
    """The main scores, what failed, and where the rest is."""
    from medfed.evaluation.folders.metrics import metrics_of

    console = Console()
    settings = result.settings
    main = [metric.name for metric in metrics_of(settings.kind) if metric.main]
    table = _table("region", "score", "mean", "95 % interval", "no failures", "median", "cases")
    for line in result.lines:
        if line.metric in main:
            table.add_row(
                escape(line.region), line.metric, _n(line.mean_worst_case),
                f"{_n(line.low)}-{_n(line.high)}", _n(line.mean_excluding), _n(line.median),
                _cases(line.defined, line.undefined, line.infinite, line.failed),
            )  # fmt: skip
    console.print(table)
    console.print("mean: missed objects and failed cases at their worst.", style="dim")
    for case in result.failed[:shown]:
        console.print(
            f"[red]{case.status.replace('_', ' ')}[/red] {escape(case.case)}: {escape(case.message)}"
        )
    if len(result.failed) > shown:
        console.print(f"and {len(result.failed) - shown} more in cases.csv.")
    if result.pairing.extra:
        names = ", ".join(path.name for path in result.pairing.extra[:3])
        console.print(
            f"{len(result.pairing.extra)} predictions have no reference, such as {escape(names)}."
        )
    if result.reused:
        console.print(f"{result.reused} cases taken from an earlier run.")
    console.print(f"Written to {escape(str(out))}: {', '.join(written)}", soft_wrap=True)


def print_labels(result: "LabelResult", out: Path) -> None:
    """One row a label, and the macro means."""
    console = Console()
    sensitivity = f"sens. at {result.settings.specificity:g}"
    table = _table("label", "AUROC", "95 % interval", "AUPRC", sensitivity, "Brier", "pos.", "neg.")
    for row in (*result.rows, result.macro):
        table.add_row(
            escape(row.label), _n(row.auroc), f"{_n(row.auroc_low)}-{_n(row.auroc_high)}",
            _n(row.auprc), _n(row.sensitivity), _n(row.brier), str(row.positives),
            str(row.negatives),
        )  # fmt: skip
    console.print(table)
    for note in result.notes:
        console.print(escape(note), style="yellow")
    console.print(f"Written to {escape(str(out))}: labels.csv, labels.json", soft_wrap=True)


def print_comparison(result: "Comparison", first: Path, second: Path) -> None:
    """One row a region and score."""
    console = Console()
    console.print(f"A = {escape(str(first))}, B = {escape(str(second))}; difference is B − A.")
    table = _table(
        "region",
        "score",
        "A",
        "B",
        "B − A",
        "95 % interval",
        "p (Holm)",
        "rank-bis.",
        "better",
        "patients",
    )
    for row in result.rows:
        table.add_row(
            escape(row.region), row.metric, _n(row.mean_a), _n(row.mean_b), _n(row.difference),
            f"{_n(row.low)}, {_n(row.high)}", _n(row.p_holm), _n(row.rank_biserial), row.better,
            str(row.patients),
        )  # fmt: skip
    console.print(table)
    for note in result.notes:
        console.print(escape(note), style="yellow")


def _table(first: str, *others: str) -> Table:
    """Narrow enough for a terminal of 80 columns; numbers are never cut."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(first, overflow="fold", min_width=10)
    for name in others:
        words = name in ("score", "better", "cases")
        table.add_column(name, justify="left" if words else "right", no_wrap=not words)
    return table


def _n(value: float) -> str:
    from medfed.evaluation.pages.page import number

    return number(value)


def _cases(defined: int, undefined: int, infinite: int, failed: int) -> str:
    parts = [f"{defined}"]
    counts = ((infinite, "infinite"), (undefined, "undefined"), (failed, "failed"))
    parts += [f"{count} {word}" for count, word in counts if count]
    return ", ".join(parts)
