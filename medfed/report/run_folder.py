"""The run folder: the records of one run, the same in every environment.

    job.toml          the job as it was submitted
    run.json          what the run is: sites, classes, label mapping, networks, versions
    status.json       running, complete, partial, stopped or failed, and why
    events.jsonl      progress, oldest first
    receipts.jsonl    which site took part in which phase
    disclosures.jsonl what left each site, with digests
    wire.csv          every message, with its bytes
    phases.csv        seconds per phase
    history.csv       the student's distillation, epoch by epoch
    metrics.csv       every score with its interval
    scores.npz        every model's scores on the server's benchmark
    coverage.json     what the teachers say about the public set
    student/          weights, model card, how to load them
    privacy.md        what left the sites and what that means
    report.html       all of it on one page

Growing files are appended to, all others replaced whole, so a crash costs at most one row.
"""

import dataclasses
import io
import json
import shutil
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from medfed.errors import RunFolderError
from medfed.files import write_atomically
from medfed.report import rows
from medfed.report.records import (
    Coverage,
    Disclosure,
    Epoch,
    Event,
    Metric,
    Outcome,
    Phase,
    Receipt,
    RunFacts,
    Scores,
    Status,
    WireRow,
    WireRowLike,
)
from medfed.report.student import student_files

__all__ = ["LEAST_FREE_BYTES", "RunFolder"]

# A DenseNet-121 checkpoint with its optimiser takes 85 MB, and two exist while one is replaced.
LEAST_FREE_BYTES = 256 << 20
GROWING = (
    "events.jsonl", "receipts.jsonl", "disclosures.jsonl", "wire.csv", "phases.csv", "history.csv",
)  # fmt: skip


class RunFolder:
    """Writes one run's records; safe to call from several threads of one process.

    Holds no rows in memory, so its size does not grow with sites or rounds.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    @classmethod
    def create(
        cls,
        path: Path,
        job_toml_text: str,
        *,
        resume: bool = False,
        free_bytes: int = LEAST_FREE_BYTES,
    ) -> "RunFolder":
        """A folder for a new run, or with `resume` the folder of the same job, as it was left.

        Everything that could stop the run later for want of a place to write is checked here.

        Raises:
            RunFolderError: not writable, not empty, of another job, or too little disk.
        """
        kept = _usable_content(path, job_toml_text, resume=resume)
        try:
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path):
                free = shutil.disk_usage(path).free
        except OSError as error:
            raise RunFolderError(
                f"{path}: cannot be written ({error.strerror}). Name another folder with --out."
            ) from error
        if free < free_bytes:
            raise RunFolderError(
                f"{path}: {free >> 20} MiB of disk are free and a run may need {free_bytes >> 20} "
                "MiB. Free some, or name a folder on another disk with --out."
            )
        folder = cls(path)
        if kept:
            for name in GROWING:
                rows.trim(path / name)
        else:
            folder.write("job.toml", job_toml_text)
        started = folder.status().started if kept else _now()
        folder._write_json("status.json", Status("running", started=started))
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """The folder of a run that exists.

        Raises:
            RunFolderError: there is no run in it.
        """
        if not (path / "job.toml").is_file():
            raise RunFolderError(
                f"{path}: is no run folder (it has no job.toml). Give the folder that a run wrote."
            )
        return cls(path)

    def finish(self, outcome: Outcome, reason: str = "") -> None:
        """Write down how the run ended."""
        self._write_json("status.json", Status(outcome, reason, self.status().started, _now()))

    def status(self) -> Status:
        """Where the run stands; "running" also for one that was killed."""
        path = self.path / "status.json"
        if not path.exists():
            return Status("running")
        try:
            return rows.from_plain(Status, json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise RunFolderError(f"{path}: is damaged: {error}.") from error

    def write_facts(self, facts: RunFacts) -> None:
        """Write down what the run is."""
        self._write_json("run.json", facts)

    def append_event(self, site: str, phase: str, done: int, total: int, text: str = "") -> None:
        """Write down one step of progress."""
        with self._lock:
            rows.append_json_line(
                self.path / "events.jsonl", Event(_now(), site, phase, done, total, text)
            )

    def record_wire(self, row: WireRowLike) -> None:
        """Write down one message that crossed the wire."""
        values = {f.name: getattr(row, f.name) for f in dataclasses.fields(WireRow)}
        with self._lock:
            rows.append_csv(self.path / "wire.csv", WireRow, WireRow(**values))

    def record_receipt(self, receipt: Receipt) -> None:
        """Write down that a site took part in a phase, or did not."""
        with self._lock:
            rows.append_json_line(self.path / "receipts.jsonl", receipt)

    def record_disclosure(self, disclosure: Disclosure) -> None:
        """Write down one message that left a site."""
        with self._lock:
            rows.append_json_line(self.path / "disclosures.jsonl", disclosure)

    def record_phase(self, phase: str, seconds: float, *, party: str = "server") -> None:
        """Write down the seconds that a party spent in a phase."""
        with self._lock:
            rows.append_csv(self.path / "phases.csv", Phase, Phase(phase, party, seconds))

    @contextmanager
    def phase(self, phase: str, *, party: str = "server") -> Iterator[None]:
        """Time what happens inside; a phase that ends in an error is timed too."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.record_phase(phase, round(time.perf_counter() - start, 3), party=party)

    def append_epoch(self, epoch: Epoch) -> None:
        """Write down one epoch of distillation; one repeated after a resume replaces itself."""
        with self._lock:
            rows.append_csv(self.path / "history.csv", Epoch, epoch)

    def write_metrics(self, metrics: Sequence[Metric]) -> None:
        """Write every score of the run."""
        self.write("metrics.csv", rows.csv_text(Metric, metrics))

    def write_coverage(self, coverage: Coverage) -> None:
        """Write down what the teachers say about the public set."""
        self._write_json("coverage.json", coverage)

    def write_scores(self, scores: Scores) -> None:
        """Write every model's scores on the benchmark."""
        data = io.BytesIO()
        arrays: dict[str, Any] = {
            "labels": np.asarray(scores.labels, np.int8),
            "groups": np.asarray(scores.groups, np.int32),
        }
        for name, value in scores.models.items():
            arrays[f"model/{name}"] = np.asarray(value, np.float32)
        np.savez_compressed(data, **arrays)
        self.write("scores.npz", data.getvalue())

    def write_student(self, weights: Mapping[str, np.ndarray], loader: Mapping[str, Any]) -> Path:
        """Write the student's weights and what loads them; the report adds the model card.

        Args:
            weights: the network's state by name.
            loader: what builds the network and its input again: `network` {name, args},
                `in_channels`, `classes`, `task_kind`, `image` (the pipeline's arguments).

        Returns:
            The folder `student/`.
        """
        for name, data in student_files(weights, loader).items():
            self.write(f"student/{name}", data)
        return self.path / "student"

    def write(self, name: str, data: str | bytes) -> Path:
        """Replace one file of the folder whole.

        Raises:
            RunFolderError: the disk is full or the folder became read-only.
        """
        path = self.path / name
        try:
            write_atomically(path, data.encode() if isinstance(data, str) else data)
        except OSError as error:
            raise RunFolderError(
                f"{path}: cannot be written ({error.strerror}). Free disk space or mend its "
                "rights, then run again with --resume; what is finished is kept."
            ) from error
        return path

    def _write_json(self, name: str, value: Any) -> None:  # noqa: ANN401 - any dataclass
        self.write(name, json.dumps(dataclasses.asdict(value), indent=1) + "\n")


def _usable_content(path: Path, job_toml_text: str, *, resume: bool) -> bool:
    """Whether a run of this very job stands in the folder and is to be continued."""
    if path.exists() and not path.is_dir():
        raise RunFolderError(f"{path}: is a file. Name a folder with --out.")
    try:
        empty = not path.exists() or not any(path.iterdir())
    except OSError as error:
        raise RunFolderError(
            f"{path}: cannot be read ({error.strerror}). Name another folder with --out."
        ) from error
    if empty:
        return False
    if not resume:
        raise RunFolderError(
            f"{path}: is not empty. Add --resume to continue the run in it, or name another folder "
            "with --out."
        )
    job = path / "job.toml"
    if not job.is_file():
        raise RunFolderError(
            f"{path}: holds files but no run (it has no job.toml). Name another folder with --out."
        )
    if tomllib.loads(job.read_text(encoding="utf-8")) != tomllib.loads(job_toml_text):
        raise RunFolderError(
            f"{job}: is another job than the one to resume. Resume with that file, or name another "
            "folder with --out."
        )
    return True


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
