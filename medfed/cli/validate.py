"""`medfed validate`: check a job.toml, and the parties' site.toml files, before a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.console import Console

if TYPE_CHECKING:
    from medfed.data import Vocabulary
    from medfed.job import Job

__all__ = ["main", "validate"]


def main(argv: list[str]) -> int:
    """Parse and run."""
    return tyro.cli(validate, args=argv, prog="medfed validate")


def validate(job: Annotated[Path, tyro.conf.Positional], sites: Path | None = None) -> int:
    """Check every key of a job, its task and networks, and with --sites every party's file.

    Args:
        job: a job.toml.
        sites: folder with NAME.toml for each site and server.toml.
    """
    from medfed.data import Vocabulary
    from medfed.job import Job
    from medfed.networks import build

    checked = Job.read(job)
    vocabulary = Vocabulary.load(checked.task)
    for spec in (checked.networks.student, checked.networks.site, *checked.networks.sites.values()):
        build(spec, in_channels=checked.image.channels, classes=len(vocabulary.classes), seed=0)
    console = Console()
    console.print(
        f"{job}: is a valid job for {len(checked.federation.sites)} sites, run {checked.run_id()}"
    )
    if sites is not None:
        _check_parties(checked, vocabulary, sites, console)
    return 0


def _check_parties(job: "Job", vocabulary: "Vocabulary", sites: Path, console: Console) -> None:
    """Open every dataset that the job names at every party, and ask every site's policy."""
    from medfed.algorithms.packing import packed_bytes
    from medfed.data import Site, open_cases
    from medfed.privacy.policy import check_job

    shared = [job.data.public, *([job.data.benchmark] if job.data.benchmark else [])]
    counts = {}
    for name in ("server", *job.federation.sites):
        site = Site.read(sites / f"{name}.toml")
        for alias in shared if name == "server" else [job.data.train, *shared]:
            counts[name, alias] = len(open_cases(site, alias, vocabulary))
        if name != "server":
            check_job(site.privacy, job, site=name)
        console.print(
            f"{name}: "
            + ", ".join(f"{a} {n}" for (p, a), n in counts.items() if p == name)
            + " cases"
        )
    up = sum(
        packed_bytes(counts["server", alias], len(vocabulary.classes), job.fedkd.levels)
        for alias in shared
    )
    console.print(
        f"each site will send at most {up:,} bytes of logits, before entropy coding and headers"
    )
