"""`medfed export`: a job.toml as an NVFlare job folder that a provisioned server accepts."""

from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["export", "main"]


def main(argv: list[str]) -> int:
    """Parse and run."""
    return tyro.cli(export, args=argv, prog="medfed export")


def export(
    job: Annotated[Path, tyro.conf.Positional], out: Annotated[Path, tyro.conf.Positional]
) -> int:
    """Write the NVFlare job; it holds JSON only and no code.

    Args:
        job: a job.toml.
        out: the folder to put the job folder in.
    """
    from medfed.job import Job
    from medfed.nvflare_jobs import export_job

    print(export_job(Job.read(job), out))
    return 0
