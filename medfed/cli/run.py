"""`medfed run`: run a job.toml on this machine."""

from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from medfed.cli.running import Environment, carry_out, show

__all__ = ["main", "run"]


def main(argv: list[str]) -> int:
    """Parse and run."""
    return tyro.cli(run, args=argv, prog="medfed run")


def run(
    job: Annotated[Path, tyro.conf.Positional],
    env: Environment = "sim",
    sites: Path | None = None,
    out: Path | None = None,
    resume: bool = False,
) -> int:
    """Run a job and show its result.

    Args:
        job: a job.toml.
        env: local (one process), sim (NVFlare's simulator) or poc (real processes with TLS).
        sites: folder with NAME.toml for each site and server.toml; sites/ beside the job without.
        out: run folder; runs/NAME without.
        resume: go on in a run folder that stands there.
    """
    from medfed.job import Job

    checked = Job.read(job)
    folder = out or Path("runs") / checked.name
    console = Console()
    report = carry_out(
        checked, job.read_text(encoding="utf-8"), env=env, sites=sites or job.parent / "sites", out=folder,
        resume=resume, console=console,
    )  # fmt: skip
    show(folder, report, console)
    return 0
