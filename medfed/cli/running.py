"""What `medfed run` and `medfed demo` share: progress on the screen, the run itself, its table."""

from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Literal

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from medfed.job import Job
from medfed.roles.channel import ProgressEvent

__all__ = ["Environment", "Screen", "carry_out", "show"]

Environment = Literal["local", "sim", "poc"]
STEP_PERCENT = 25  # a log without a terminal gets a line at least this far apart


class Screen(AbstractContextManager["Screen"]):
    """One bar a party: which phase, how far. Plain lines where there is no terminal."""

    def __init__(self, console: Console, parties: tuple[str, ...]) -> None:
        self._console = console
        self._bars = Progress(
            TextColumn("{task.fields[party]:>12}"), TextColumn("{task.description:<18}"), BarColumn(),
            MofNCompleteColumn(), TimeElapsedColumn(), console=console, disable=not console.is_terminal,
        )  # fmt: skip
        self._tasks: dict[str, TaskID] = {}
        self._said: dict[tuple[str, str], int] = {}
        for party in parties[:24]:  # more bars than lines on a screen help nobody
            self._tasks[party] = self._bars.add_task("waiting", total=None, party=party)

    def __enter__(self) -> "Screen":
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def __call__(self, event: ProgressEvent) -> None:
        """Show one step."""
        if not self._console.is_terminal:
            self._say(event)
        elif event.party in self._tasks:
            self._bars.update(
                self._tasks[event.party],
                description=event.phase,
                completed=event.done,
                total=event.total,
            )

    def _say(self, event: ProgressEvent) -> None:
        percent = 100 * event.done // max(event.total, 1)
        key = (event.party, event.phase)
        if percent - self._said.get(key, -STEP_PERCENT) >= STEP_PERCENT:
            self._said[key] = percent
            self._console.print(
                f"{event.party:>12}  {event.phase:<18} {event.done}/{event.total}", highlight=False
            )


def carry_out(
    job: Job,
    job_text: str,
    *,
    env: Environment,
    sites: Path,
    out: Path,
    resume: bool,
    console: Console,
) -> Path:
    """Run a job on this machine, with progress, and build its report.

    Returns:
        The path of report.html.

    Raises:
        MedfedError: the run failed; what is finished is kept, and the report is built all the same.
    """
    from medfed.report import RunFolder, build_report

    folder = RunFolder.create(out, job_text, resume=resume)
    parties = ("server", *sorted(job.federation.sites))
    console.print(
        f"{job.name}: {job.method} on {len(parties) - 1} sites in {env}; records go to {out}"
    )
    try:
        with Screen(console, parties) as screen:
            if env == "local":
                from medfed.roles.run_local import run_local

                run_local(job, sites, folder, watch=screen)
            else:
                from medfed.nvflare_jobs import run_poc, run_sim

                (run_sim if env == "sim" else run_poc)(job, sites, out, watch=screen)
    finally:
        if (out / "run.json").exists():
            report = build_report(out)
    return report


def show(out: Path, report: Path, console: Console) -> None:
    """Print the run's tables and where its report is."""
    from medfed.report import print_run

    print_run(out, console)
    console.print(f"report: {report.absolute()}", soft_wrap=True)
