"""A run folder read back: every record of a run, whatever of it there is."""

import json
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from medfed.errors import RunFolderError
from medfed.report import rows
from medfed.report.records import (
    Coverage,
    Disclosure,
    Epoch,
    Metric,
    Phase,
    Receipt,
    RunFacts,
    Scores,
    Status,
    WireRow,
)
from medfed.report.run_folder import RunFolder

__all__ = ["RunRecord", "read_run"]

Row = TypeVar("Row")
UNFINISHED = "the run has not finished: it is still running, or it was killed"


@dataclass(frozen=True, eq=False)
class RunRecord:
    """Everything that a run wrote down."""

    path: Path
    job_toml: str
    facts: RunFacts
    status: Status
    metrics: tuple[Metric, ...]
    wire: tuple[WireRow, ...]
    receipts: tuple[Receipt, ...]  # one for each (site, phase), the last that was written
    disclosures: tuple[Disclosure, ...]
    phases: tuple[Phase, ...]
    history: tuple[Epoch, ...]  # one for each epoch, in order
    coverage: Coverage | None
    scores: Scores | None

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """Why this run is partial, one reason a line; empty for a complete run."""
        found = []
        if self.status.outcome == "running":
            found.append(UNFINISHED)
        elif self.status.outcome != "complete":
            found.append(self.status.reason or f"the run is {self.status.outcome}")
        missing = (r for r in self.receipts if r.status != "answered")
        found.extend(f"{r.site} in phase {r.phase}: {r.reason or r.status}" for r in missing)
        return tuple(found)

    @property
    def partial(self) -> bool:
        """Whether anything that the job asked for is missing."""
        return bool(self.shortfalls)


def read_run(path: Path) -> RunRecord:
    """The records in a run folder; a record that was never written is empty, not an error.

    Raises:
        RunFolderError: there is no run, or a record is damaged (named with its line).
    """
    folder = RunFolder.open(path)
    job_toml = (path / "job.toml").read_text(encoding="utf-8")
    receipts = rows.read_json_lines(path / "receipts.jsonl", Receipt)
    history = {e.epoch: e for e in rows.read_csv(path / "history.csv", Epoch)}
    return RunRecord(
        path=path,
        job_toml=job_toml,
        facts=_read_json(path / "run.json", RunFacts) or _facts_of_job(path, job_toml),
        status=folder.status(),
        metrics=rows.read_csv(path / "metrics.csv", Metric),
        wire=rows.read_csv(path / "wire.csv", WireRow),
        receipts=tuple({(r.site, r.phase): r for r in receipts}.values()),
        disclosures=tuple(rows.read_json_lines(path / "disclosures.jsonl", Disclosure)),
        phases=rows.read_csv(path / "phases.csv", Phase),
        history=tuple(history[e] for e in sorted(history)),
        coverage=_read_json(path / "coverage.json", Coverage),
        scores=_read_scores(path / "scores.npz"),
    )


def _read_json(path: Path, kind: type[Row]) -> Row | None:
    if not path.exists():
        return None
    try:
        return rows.from_plain(kind, json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise RunFolderError(f"{path}: is damaged: {error}.") from error


def _read_scores(path: Path) -> Scores | None:
    if not path.exists():
        return None
    try:
        with np.load(path, allow_pickle=False) as arrays:
            models = {k.removeprefix("model/"): arrays[k] for k in arrays if k.startswith("model/")}
            return Scores(arrays["labels"], arrays["groups"], models)
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise RunFolderError(f"{path}: is damaged: {error}.") from error


def _facts_of_job(path: Path, job_toml: str) -> RunFacts:
    """What the job alone says, for a run that ended before it wrote down anything else."""
    try:
        job: dict[str, Any] = tomllib.loads(job_toml)
    except tomllib.TOMLDecodeError as error:
        raise RunFolderError(f"{path / 'job.toml'}: is not valid TOML: {error}.") from error
    return RunFacts(
        name=str(job.get("name", path.name)),
        method=str(job.get("method", "unknown")),
        environment="unknown",
        task=str(job.get("task", "unknown")),
        task_kind="multi_label",
        classes=(),
        sites=tuple(job.get("federation", {}).get("sites", ())),
        seed=int(job.get("seed", 0)),
        synthetic=False,
        data="unknown: the run ended before it opened its images",
        weighting="",
        selection="unknown",
    )
