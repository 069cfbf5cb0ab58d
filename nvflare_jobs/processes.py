"""Child processes and all their descendants, started with a mark and ended by it.

NVFlare starts job processes in sessions of their own, so neither a process group nor the family
tree holds them once a parent has died. Each run puts a mark in its children's environment
instead.
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

__all__ = ["Family", "family"]

MARK = "MEDFED_FAMILY"
GRACE_S = 3.0  # for a process to end itself after SIGTERM, before SIGKILL


class Family:
    """Processes that one run started, with their descendants.

    Args:
        environment: added to this process's own for every child.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._mark = uuid.uuid4().hex
        self._environment = {**os.environ, **environment, MARK: self._mark}
        self._started: list[subprocess.Popen[bytes]] = []

    def start(
        self, module: str, arguments: Sequence[str], *, folder: Path, log: Path
    ) -> subprocess.Popen[bytes]:
        """Start a Python module in a folder; what it prints is appended to a log."""
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter and modules, no shell
                [sys.executable, "-u", "-m", module, *arguments],
                cwd=folder, env=self._environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        self._started.append(process)
        return process

    def members(self) -> list[Any]:
        """Living processes that carry the mark, as psutil processes."""
        import psutil  # type: ignore[import-untyped]

        found = []
        for process in psutil.process_iter():
            try:
                if (
                    process.environ().get(MARK) == self._mark
                    and process.status() != psutil.STATUS_ZOMBIE
                ):
                    found.append(process)
            except (psutil.Error, OSError):
                continue  # another user's, or gone meanwhile
        return found

    def end(self) -> int:
        """End every member, and give back how many there were."""
        import psutil

        members = self.members()
        for sign in (signal.SIGTERM, signal.SIGKILL):
            living = self.members()
            for process in living:
                try:
                    process.send_signal(sign)
                except psutil.Error:
                    continue
            if not living:
                break
            psutil.wait_procs(living, timeout=GRACE_S)
        for started in self._started:
            started.wait()
        return len(members)


@contextmanager
def family(environment: Mapping[str, str]) -> Iterator[Family]:
    """A family that has ended when this is left, whatever the reason."""
    run = Family(environment)
    try:
        yield run
    finally:
        run.end()
