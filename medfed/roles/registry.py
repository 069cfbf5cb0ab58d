"""Roles by method name: what a transport needs to host one."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from medfed.job import Job
from medfed.privacy.gate import Gate
from medfed.privacy.ledger import Ledger
from medfed.roles.channel import Channel, Envelope, ProgressEvent
from medfed.roles.endpoint import SiteEndpoint

if TYPE_CHECKING:
    from medfed.data import Site
    from medfed.report import RunFolder

__all__ = ["METHODS", "ServerRole", "envelope_for", "server_role", "site_endpoint"]

METHODS = {"fedkd": "one-shot distillation through an unlabelled public set"}


class ServerRole(Protocol):
    """A method's part at the server."""

    def run(self) -> None:
        """Ask, aggregate, distil, save; resumes from the last completed phase."""
        ...


def site_endpoint(
    job: Job,
    site: "Site",
    *,
    name: str,
    state_dir: Path,
    progress: Callable[[ProgressEvent], None],
    stop: Callable[[], bool],
) -> SiteEndpoint:
    """One site's end of a run.

    Args:
        job: what is asked.
        site: the hospital's own site.toml.
        name: the site's name in the federation.
        state_dir: folder that outlives the process and the NVFlare job.
        progress: told how far the site is.
        stop: true when the run was asked to stop.
    """
    from medfed.roles.fedkd_site import FedKDSite
    from medfed.training import compute_with

    compute_with(threads=job.threads)
    role = FedKDSite(
        job, site, name=name, state_dir=state_dir / job.run_id(), progress=progress, stop=stop
    )
    gate = Gate(site.privacy, Ledger(state_dir / "ledger.jsonl"), site=name, job=job)
    return SiteEndpoint(role, gate, name=name, state_dir=state_dir / job.run_id())


def server_role(
    job: Job,
    channel: Channel,
    *,
    site: "Site",
    run_folder: "RunFolder",
    progress: Callable[[ProgressEvent], None],
    stop: Callable[[], bool],
    environment: str = "prod",
) -> ServerRole:
    """The server's part of a run.

    Args:
        job: what is asked.
        channel: how the sites are reached.
        site: the server's own site.toml, which names the public and benchmark images.
        run_folder: where records and results go.
        progress: told how far the server is.
        stop: true when the run was asked to stop.
        environment: local, sim, poc or prod; recorded.
    """
    from medfed.roles.fedkd_server import FedKDServer
    from medfed.training import compute_with

    compute_with(threads=job.threads)
    return FedKDServer(
        job,
        channel,
        site=site,
        folder=run_folder,
        progress=progress,
        stop=stop,
        environment=environment,
    )


def envelope_for(run_folder: "RunFolder") -> Envelope:
    """An envelope that writes every message to the run folder."""
    return Envelope(run_folder.record_wire, run_folder.record_disclosure)
