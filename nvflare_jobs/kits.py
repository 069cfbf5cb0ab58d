"""Startup kits for a federation on one machine, and the builder that fits medfed into any kit."""

import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nvflare.lighter.constants import CtxKey, ProvFileName, ProvisionMode
from nvflare.lighter.impl.cert import CertBuilder
from nvflare.lighter.impl.signature import SignatureBuilder
from nvflare.lighter.impl.static_file import StaticFileBuilder
from nvflare.lighter.impl.workspace import WorkspaceBuilder
from nvflare.lighter.provision import prepare_project
from nvflare.lighter.provisioner import Provisioner
from nvflare.lighter.spec import Builder

from medfed.errors import MedfedError

__all__ = ["ADMIN", "ALLOWED", "Kits", "MedfedKitBuilder", "free_port", "provision"]

ALLOWED = "medfed.flare."  # the one prefix that a hospital adds to its class allow list
ADMIN = "admin@medfed.local"
PROJECT = "medfed"


class MedfedKitBuilder(Builder):
    """Puts into each kit what a job of medfed needs, and keeps a site's logs at the site.

    Goes into a project.yml behind StaticFileBuilder, as
    `medfed.nvflare_jobs.kits.MedfedKitBuilder`.
    """

    def build(self, project: Any, ctx: Any) -> None:  # noqa: ANN401 - NVFlare is untyped
        """Called by the provisioner once for all kits."""
        for participant in [project.get_server(), *project.get_clients()]:
            path = Path(ctx.get_local_dir(participant)) / ProvFileName.RESOURCES_JSON_DEFAULT
            resources = json.loads(path.read_text(encoding="utf-8"))
            path.write_text(json.dumps(with_medfed(resources), indent=2), encoding="utf-8")


def with_medfed(resources: dict[str, Any]) -> dict[str, Any]:
    """A party's resources.json with medfed allowed and log streaming off; the rest as it was.

    NVFlare streams a site's error log to the server by default, and an error may name a file.
    """
    allowed = resources.get("class_allow_list", [])
    if ALLOWED not in allowed:
        allowed = [*allowed, ALLOWED]
    return {**resources, "class_allow_list": allowed, "allow_log_streaming": False}


@dataclass(frozen=True, slots=True)
class Kits:
    """Folders of the parties' startup kits."""

    folder: Path

    def of(self, party: str) -> Path:
        """One party's kit, which is also its NVFlare workspace."""
        return self.folder / party

    @property
    def admin(self) -> Path:
        """The kit of who submits jobs."""
        return self.folder / ADMIN


def provision(folder: Path, sites: Sequence[str], *, port: int) -> Kits:
    """Make the kits of a server on this machine, sites and an administrator, with certificates.

    Raises:
        MedfedError: NVFlare could not make them.
    """
    server = {"name": "server", "type": "server", "default_host": "localhost"}
    ports = {"fed_learn_port": port, "admin_port": port}
    clients = [{"name": site, "type": "client"} for site in sites]
    admin = {"name": ADMIN, "type": "admin", "role": "project_admin"}
    parties: list[Mapping[str, object]] = [{**server, **ports}, *clients, admin]
    project = prepare_project(
        {
            "api_version": 3,
            "name": PROJECT,
            "description": "A federation on one machine.",
            "participants": [{**party, "org": PROJECT} for party in parties],
        }
    )
    builders = [
        WorkspaceBuilder(["master_template.yml"]),
        StaticFileBuilder(config_folder="config", scheme="http"),
        MedfedKitBuilder(),
        CertBuilder(),
        SignatureBuilder(),
    ]
    said = _Said()
    ctx = Provisioner(str(folder), builders).provision(project, mode=ProvisionMode.POC, logger=said)
    if ctx.get(CtxKey.BUILD_ERROR):
        raise MedfedError(f"{folder}: NVFlare could not make the startup kits: {said.last}")
    return Kits(Path(ctx.get(CtxKey.CURRENT_PROD_DIR)))


def free_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class _Said:
    """Takes what the provisioner would print."""

    last = ""

    def debug(self, text: str) -> None:
        """Drop what only NVFlare's developers need."""

    def info(self, text: str) -> None:
        """Drop news."""

    def warning(self, text: str) -> None:
        """Keep a warning."""
        self.last = text

    def error(self, text: str) -> None:
        """Keep an error."""
        self.last = text
