"""`medfed report`: write report.html for a run folder, finished or not."""

from pathlib import Path
from typing import Annotated

import tyro

__all__ = ["main", "report"]


def main(argv: list[str]) -> int:
    """Parse and run."""
    return tyro.cli(report, args=argv, prog="medfed report")


def report(run: Annotated[Path, tyro.conf.Positional]) -> int:
    """Write report.html into a run folder, and print where it is.

    Args:
        run: the run folder.
    """
    from medfed.report import build_report

    print(build_report(run))
    return 0
