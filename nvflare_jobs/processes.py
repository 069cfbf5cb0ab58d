"""Child processes and all their descendants, started with a mark and ended by it.

NVFlare starts job processes in sessions of their own, so neither a process group nor the family
tree holds them once a parent has died. Each run puts a mark in its children's environment instead.
A guard (`medfed.nvflare_jobs.guard`) ends them should this process be killed.
"""

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Family", "end_marked", "family", "marked"]

MARK = "MEDFED_FAMILY"
GRACE_S = 3.0  # for a process to end itself after SIGTERM, before SIGKILL


def marked(mark: str) -> list[Any]:
    """Living processes that carry a mark, as psutil processes."""
    import psutil  # type: ignore[import-untyped]

    found = []
    for process in psutil.process_iter():
        try:
            living = process.status() != psutil.STATUS_ZOMBIE
            if living and process.environ().get(MARK) == mark:
                found.append(process)
        except (psutil.Error, OSError):
            continue  # another user's, or gone meanwhile
    return found


def end_marked(mark: str) -> None:
    """End every process that carries a mark: asked first, then killed."""
    import psutil

    for sign in (signal.SIGTERM, signal.SIGKILL):
        living = marked(mark)
        for process in living:
            try:
                process.send_signal(sign)
            except psutil.Error:
                continue  # gone meanwhile
        psutil.wait_procs(living, timeout=GRACE_S)


class Family:
    """Processes that one run started, with their descendants.

    Args:
        environment: added to this process's own for every child.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._mark = uuid.uuid4().hex
        self._environment = {**os.environ, **environment, MARK: self._mark}
        self._started: list[subprocess.Popen[bytes]] = []
        self._guard: subprocess.Popen[bytes] | None = None

    def start(
        self, module: str, arguments: Sequence[str], *, folder: Path, log: Path
    ) -> subprocess.Popen[bytes]:
        """Start a Python module in a folder; what it prints is appended to a log."""
        self._watch_over()
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and modules, no shell
                [sys.executable, "-u", "-m", module, *arguments],
                cwd=folder, env=self._environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self._started.append(process)
        return process

    def end(self) -> None:
        """End every member."""
        end_marked(self._mark)
        for process in self._started:
            process.wait()
        if self._guard is not None:
            self._guard.communicate()
            self._guard = None

    def _watch_over(self) -> None:
        """Start the guard: a process without the mark that wakes when this one has ended."""
        if self._guard is None:
            self._guard = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "medfed.nvflare_jobs.guard", self._mark],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONSAFEPATH": "1"}, start_new_session=True,
            )  # fmt: skip


@contextmanager
def family(environment: Mapping[str, str]) -> Iterator[Family]:
    """A family that has ended when this is left, whatever the reason."""
    run = Family(environment)
    try:
        yield run
    finally:
        run.end()
