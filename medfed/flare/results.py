"""The server's run folder under NVFlare: opened, its failure noted, its results offered.

Results lie in the run folder, which outlives an NVFlare job; what NVFlare offers for download is
a copy in the job's own run folder.
"""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medfed.errors import MedfedError, RunFolderError, Stopped
from medfed.job import Job
from medfed.report import RunFolder

__all__ = [
    "FAILURE",
    "RESULTS",
    "offer_results",
    "open_run_folder",
    "read_failure",
    "toml_text",
    "write_failure",
]

FAILURE = "failure.json"  # the error that ended the run; absent where none did
RESULTS = "medfed_results"  # folder in NVFlare's run folder
# What only a resume or this machine needs: states of parties, checkpoints, logs.
_KEPT_HERE = shutil.ignore_patterns("parties", "logs", "state", "*.tmp", ".*")


def open_run_folder(path: Path, job: Job) -> RunFolder:
    """The run folder of a job: the one that stands there, or a new one.

    Raises:
        RunFolderError: it holds another job, or cannot be written.
    """
    present = path / "job.toml"
    if not present.is_file():
        return RunFolder.create(path, toml_text(json.loads(job.to_json())))
    if Job.read(present).fingerprint() != job.fingerprint():
        raise RunFolderError(
            f"{present}: is another job than the one that NVFlare runs. Name another run folder."
        )
    (path / FAILURE).unlink(missing_ok=True)
    return RunFolder.create(path, present.read_text(encoding="utf-8"), resume=True)


def write_failure(path: Path, error: MedfedError) -> None:
    """Write down the error that ended the run, where the folder can be written at all."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / FAILURE).write_text(
            json.dumps({"code": error.code, "text": error.local}) + "\n", encoding="utf-8"
        )
        if (path / "job.toml").is_file():
            RunFolder.open(path).finish(
                "stopped" if isinstance(error, Stopped) else "failed", error.local
            )
    except (OSError, MedfedError):
        return


def read_failure(path: Path) -> MedfedError | None:
    """The error that ended a run, as the kind it was."""
    try:
        found = json.loads((path / FAILURE).read_text(encoding="utf-8"))
        code, text = str(found["code"]), str(found["text"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return _kind_of(code)(text)


def offer_results(path: Path, run_dir: Path) -> None:
    """Copy the run folder to where NVFlare looks for results to download."""
    shutil.copytree(path, run_dir / RESULTS, dirs_exist_ok=True, ignore=_KEPT_HERE)


def toml_text(values: Mapping[str, Any]) -> str:
    """A job's values as TOML; None is left out, since TOML has none.

    >>> print(toml_text({"name": "a", "data": {"train": "x", "benchmark": None}}))
    name = "a"
    <BLANKLINE>
    [data]
    train = "x"
    <BLANKLINE>
    """
    return "\n".join(_table(values, ())) + "\n"


def _table(values: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    plain = {k: v for k, v in values.items() if v is not None and not isinstance(v, Mapping)}
    lines = [f"{_key(key)} = {json.dumps(value)}" for key, value in plain.items()]
    for key, value in values.items():
        if isinstance(value, Mapping):
            here = (*path, key)
            lines += ["", f"[{'.'.join(map(_key, here))}]", *_table(value, here)]
    return lines


def _key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else json.dumps(name)


def _kind_of(code: str) -> type[MedfedError]:
    known, found = [MedfedError], {}
    while known:
        kind = known.pop()
        found[kind.__dict__.get("code", "")] = kind
        known += kind.__subclasses__()
    return found.get(code, MedfedError)
