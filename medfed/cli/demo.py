"""`medfed demo`: a first federation, from nothing to a report."""

import os
import shutil
from pathlib import Path

import tyro
from rich.console import Console
from rich.panel import Panel

from medfed.cli.running import Environment, carry_out, show

__all__ = ["demo", "main"]

DATA = "MEDFED_DATA"


def main(argv: list[str]) -> int:
    """Parse and run."""
    return tyro.cli(demo, args=argv, prog="medfed demo")


def demo(out: Path = Path("runs/demo"), env: Environment = "sim", phantoms: bool = False) -> int:
    """Four hospitals distil one chest X-ray model, without sharing an image or a weight.

    Real NIH images are used where the environment variable MEDFED_DATA names a folder that holds
    nih_cxr14/; drawn phantoms where not.

    Args:
        out: run folder; a demo that stands there is replaced.
        env: sim (NVFlare's simulator), local (one process) or poc (real processes with TLS).
        phantoms: draw phantoms even where real images are found.
    """
    import tomllib

    from medfed.job import Job, validate_model
    from medfed.nvflare_jobs.demo import demo_job_text, nih_folder, write_demo_sites

    console = Console()
    text = demo_job_text()
    job = validate_model(Job, tomllib.loads(text), "demo.toml")
    named = os.environ.get(DATA)
    nih = None if phantoms else nih_folder(Path(named) if named else None)
    _announce(console, nih, named)
    _clear(out)
    sites = out.parent / f"{out.name}-sites"
    shutil.rmtree(sites, ignore_errors=True)
    write_demo_sites(sites, job, nih)
    report = carry_out(job, text, env=env, sites=sites, out=out, resume=False, console=console)
    show(out, report, console)
    return 0


def _announce(console: Console, nih: Path | None, named: str | None) -> None:
    if nih is not None:
        console.print(f"Real NIH chest X-rays from {nih}, dealt out to four hospitals by patient.")
        return
    why = f"{DATA} is {named}, which has no nih_cxr14/." if named else f"{DATA} is not set."
    console.print(
        Panel(
            f"{why}\nThe images are drawn PHANTOMS. Their scores say nothing about patients.",
            title="PHANTOMS, NOT PATIENTS", style="bold yellow",
        )
    )  # fmt: skip


def _clear(out: Path) -> None:
    """Remove an earlier demo, and only that: a folder with another job is left to RunFolder to refuse."""
    job = out / "job.toml"
    if job.is_file() and 'name = "demo"' in job.read_text(encoding="utf-8"):
        shutil.rmtree(out)
