"""Where a party finds its site.toml and keeps its state: looked up there, never told by a job.

A party looks for `<workspace>/local/medfed/<name>.toml`, then
`<workspace>/local/medfed/site.toml`, then `$MEDFED_SITE_CONFIG_DIR/<name>.toml`. State lies in
`$MEDFED_STATE_DIR/<name>`, else in `<workspace>/medfed_state`: outside NVFlare's run folder, so
that it survives a new NVFlare job id.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from medfed.errors import ConfigError
from medfed.job import Job

__all__ = [
    "CONFIG_DIR",
    "ENVIRONMENT",
    "LARGEST_JOB",
    "RUN_FOLDER",
    "SERVER",
    "STATE_DIR",
    "arrived_job",
    "run_folder_of",
    "site_file",
    "state_dir",
]

CONFIG_DIR = "MEDFED_SITE_CONFIG_DIR"
STATE_DIR = "MEDFED_STATE_DIR"
RUN_FOLDER = "MEDFED_RUN_FOLDER"
ENVIRONMENT = "MEDFED_ENVIRONMENT"  # sim or poc, for the record; a provisioned party has none
SERVER = "server"
LARGEST_JOB = (
    4 << 20
)  # bytes; a job of ten thousand sites with a network each needs about half of it
_PARTY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


def site_file(workspace: Path, party: str, environment: Mapping[str, str] = os.environ) -> Path:
    """The party's own configuration.

    Raises:
        ConfigError: none exists; lists where it was looked for.
    """
    _check(party)
    local = workspace / "local" / "medfed"
    candidates = [local / f"{party}.toml", local / "site.toml"]
    if environment.get(CONFIG_DIR):
        candidates.append(Path(environment[CONFIG_DIR]) / f"{party}.toml")
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    looked = ", ".join(map(str, candidates))
    raise ConfigError(
        f"{party}: no site configuration (looked for {looked}). Write one, or set {CONFIG_DIR}.",
        upstream="this party has no medfed configuration",
    )


def state_dir(workspace: Path, party: str, environment: Mapping[str, str] = os.environ) -> Path:
    """The folder in which the party keeps what must outlive a process and a job id."""
    _check(party)
    if environment.get(STATE_DIR):
        return Path(environment[STATE_DIR]) / party
    return workspace / "medfed_state"


def run_folder_of(job: Job, workspace: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """The server's run folder: named by the environment, else under the server's state by run."""
    if environment.get(RUN_FOLDER):
        return Path(environment[RUN_FOLDER])
    return state_dir(workspace, SERVER, environment) / job.run_id()


def arrived_job(text: object, fingerprint: object, *, method: str) -> Job:
    """The job that an NVFlare job configuration carries, checked as strictly as a job.toml.

    NVFlare replaces `{names}` and secret references in the texts of a job configuration; the
    fingerprint shows whether this one arrived as it was submitted.

    Args:
        text: the job as JSON.
        fingerprint: what `Job.fingerprint` gave when it was submitted.
        method: the method that the receiving class hosts.

    Raises:
        ConfigError: anything else than a job of this method, unchanged.
    """
    if not isinstance(text, str) or not isinstance(fingerprint, str):
        raise ConfigError("job: must be one JSON text with its fingerprint.")
    if len(text) > LARGEST_JOB:
        raise ConfigError(f"job: {len(text)} characters are over the limit of {LARGEST_JOB}.")
    job = Job.from_json(text, source="job")
    if job.fingerprint() != fingerprint:
        raise ConfigError(
            "job: does not match its fingerprint; it was changed after it was submitted."
        )
    if job.method != method:
        raise ConfigError(f"job: the method is {job.method!r}, but this class hosts {method!r}.")
    return job


def _check(party: str) -> None:
    if not _PARTY.fullmatch(party):
        raise ConfigError(
            f"{party[:80]!r} is no name for a party (letters, digits, dot, dash, underscore)."
        )
