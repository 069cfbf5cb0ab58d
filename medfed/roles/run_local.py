"""A whole run in this process: the same roles, messages, gate, bytes and run folder as in NVFlare."""

from collections.abc import Callable
from pathlib import Path

from medfed.data import Site
from medfed.errors import ConfigError, MedfedError, Stopped
from medfed.job import Job
from medfed.report import RunFolder
from medfed.roles.channel import ProgressEvent
from medfed.roles.endpoint import SiteEndpoint
from medfed.roles.local import LocalChannel
from medfed.roles.registry import envelope_for, server_role, site_endpoint

__all__ = ["PARTIES", "run_local"]

PARTIES = "parties"  # state of every party, inside the run folder, as in the NVFlare environments


def run_local(
    job: Job,
    sites_dir: Path,
    folder: RunFolder,
    *,
    watch: Callable[[ProgressEvent], None] = lambda event: None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Run a job with virtual sites; the same call on the same folder resumes.

    Args:
        job: the checked job.
        sites_dir: holds `NAME.toml` for each site, and `server.toml`.
        folder: the run folder.
        watch: told of every step.
        stop: true when the run is to stop.

    Raises:
        MedfedError: the run failed; what is finished is kept.
    """
    missing = [
        n for n in ("server", *job.federation.sites) if not (sites_dir / f"{n}.toml").is_file()
    ]
    if missing:
        raise ConfigError(
            f"{sites_dir}: has no {missing[0]}.toml{f' and {len(missing) - 1} more' if missing[1:] else ''}. A run on "
            "one machine needs a file for each site of the job, and server.toml; name their folder with --sites."
        )

    def tell(event: ProgressEvent) -> None:
        if event.done in (0, event.total) or event.done % max(1, event.total // 50) == 0:
            folder.append_event(event.party, event.phase, event.done, event.total, event.text)
            watch(event)

    def endpoint_of(name: str) -> SiteEndpoint:
        site = Site.read(sites_dir / f"{name}.toml")
        state = folder.path / PARTIES / name
        return site_endpoint(job, site, name=name, state_dir=state, progress=tell, stop=stop)

    channel = LocalChannel(job.federation.sites, endpoint_of, envelope_for(folder))
    server = Site.read(sites_dir / "server.toml")
    try:
        server_role(
            job,
            channel,
            site=server,
            run_folder=folder,
            progress=tell,
            stop=stop,
            environment="local",
        ).run()
    except MedfedError as error:
        folder.finish("stopped" if isinstance(error, Stopped) else "failed", error.local)
        raise
    except KeyboardInterrupt:
        folder.finish("stopped", "interrupted; resume it with --resume")
        raise
