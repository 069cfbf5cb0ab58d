"""Finished cases on disk, one line each, so that a stopped evaluation goes on where it was.

A line counts only for the same files (by content), the same settings and the same version.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from medfed.errors import RunFolderError
from medfed.evaluation.folders.case import CaseResult
from medfed.evaluation.folders.strict_json import decoded_number, dumped

__all__ = ["Ledger", "result_of"]

WORDS = ("outcome",)  # columns of a region that are no numbers


class Ledger:
    """The file cases.jsonl of an output folder; opened for appending.

    Args:
        path: of the file; created where it is missing.
        resume: whether lines already there are used.

    Raises:
        RunFolderError: the folder cannot be written.
    """

    def __init__(self, path: Path, *, resume: bool = True) -> None:
        self.known: dict[str, tuple[str, CaseResult]] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if resume:
                self.known = {r.case: (key, r) for key, r in _read(path)}
            # What survives is written anew, so that a torn line does not spoil the next one.
            self._file = path.open("w", encoding="utf-8")
            for key, result in self.known.values():
                self._write(key, result)
            self._sync()
        except OSError as error:
            raise RunFolderError(f"{path.parent}: cannot be written ({error}).") from error

    def key(self, case: str) -> str:
        """The key of the case's line; empty where it has none."""
        return self.known[case][0] if case in self.known else ""

    def add(self, key: str, result: CaseResult) -> None:
        """Write one case down. Only scored cases are taken up again later.

        Raises:
            RunFolderError: the disk is full.
        """
        try:
            self._write(key, result)
            self._sync()
        except OSError as error:
            raise RunFolderError(f"{self._file.name}: cannot be written ({error}).") from error

    def _write(self, key: str, result: CaseResult) -> None:
        self._file.write(dumped({"key": key, "result": asdict(result)}) + "\n")

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


def _read(path: Path) -> Iterator[tuple[str, CaseResult]]:
    if not path.is_file():
        return
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
            result = result_of(entry["result"])
        except (ValueError, KeyError, TypeError):
            continue  # a line cut off by a crash; its case is scored again
        if result.status == "scored":
            yield str(entry["key"]), result


def result_of(entry: dict[str, Any]) -> CaseResult:
    """A case from its JSON form.

    Raises:
        KeyError: a field is missing.
        TypeError: a field is unknown.
        ValueError: text where a number must be.
    """
    numbers = {
        region: {k: v if k in WORDS else _number(v) for k, v in columns.items()}
        for region, columns in entry["regions"].items()
    }
    return CaseResult(
        **{
            **entry,
            "regions": numbers,
            "warnings": tuple(entry["warnings"]),
            "shape": tuple(entry["shape"]),
            "spacing_mm": tuple(entry["spacing_mm"]),
            "diagonal": decoded_number(entry["diagonal"]),
        }
    )


def _number(value: Any) -> Any:  # noqa: ANN401
    return value if isinstance(value, int) else decoded_number(value)
