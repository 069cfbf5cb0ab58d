"""A site role in a process of its own, watched by the executor.

NVFlare fails a whole job when one site's job process dies, and the kernel kills what uses most
memory. So what uses memory, torch and the data, lives in a child: if it dies, it is started again
and the role goes on from its checkpoint; the job process, its heartbeat and all other sites never
notice.
"""

import json
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, cast

from medfed.errors import MedfedError, Stopped
from medfed.flare.frames import ANSWER, PROGRESS, QUESTION, SETUP, STOP, FrameWriter, read_frame

__all__ = ["HostedRole", "ProcessLost", "Setup"]

logger = logging.getLogger("medfed.site")
POLL_S = 0.2
STOP_S = 10.0  # a role looks at its stop signal once a batch
RESTARTS = 1  # for one question: a second death has a cause that a third try would meet again


class ProcessLost(MedfedError):
    """The process of a site role ended before it answered."""

    code = "process_lost"
    sentence = "the site's process ended before it answered; a resume goes on from its checkpoint"


@dataclass(frozen=True, slots=True)
class Setup:
    """What the process needs to host the role; paths stay at the site."""

    job: str  # the job as JSON
    name: str
    site_file: str
    state_dir: str
    threads: int


class HostedRole:
    """Starts the process at the first question and answers through it.

    Args:
        setup: what it needs.
        progress: gets each encoded progress message that the gate let out.
        stop: true when the run was asked to stop.
    """

    def __init__(
        self, setup: Setup, *, progress: Callable[[bytes], None], stop: Callable[[], bool]
    ) -> None:
        self._setup = setup
        self._progress = progress
        self._stop = stop
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: FrameWriter | None = None
        self._answers: queue.Queue[bytes | None] = queue.Queue()

    def handle(self, question: bytes) -> bytes:
        """The answer to one question.

        Raises:
            ProcessLost: the process died, and died again.
            Stopped: the run was asked to stop, and the role did not answer any more.
        """
        for attempt in range(RESTARTS + 1):
            answer = self._ask(question)
            if answer is not None:
                return answer
            if self._stop():
                raise Stopped(f"{self._setup.name}: the run ended while the role was at work.")
            logger.error(
                "the role's process ended with code %s (attempt %d)",
                self._returncode(),
                attempt + 1,
            )
            self.close()
        raise ProcessLost(
            f"{self._setup.name}: its process ended {RESTARTS + 1} times before it answered. "
            f"{self._output()} and the kernel's log say why (out of memory?)."
        )

    def close(self) -> None:
        """End the process; its state is on disk."""
        process, self._process, self._writer = self._process, None, None
        if process is None:
            return
        process.kill()
        process.wait()
        self._answers = queue.Queue()

    def _ask(self, question: bytes) -> bytes | None:
        try:
            self._running().write(QUESTION, question)
        except OSError:
            return None
        answers, told_to_stop = self._answers, 0.0
        while True:
            try:
                return answers.get(timeout=POLL_S)
            except queue.Empty:
                pass
            if not self._stop():
                continue
            if not told_to_stop:
                told_to_stop = time.monotonic()
                self._tell_stop()
            elif time.monotonic() - told_to_stop > STOP_S:
                self.close()
                raise Stopped(
                    f"{self._setup.name}: the role was ended, since it did not stop by itself."
                )

    def _running(self) -> FrameWriter:
        if self._writer is not None:
            return self._writer
        threads = str(self._setup.threads)
        environment = {
            **os.environ,
            "PYTHONSAFEPATH": "1",
            "OMP_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
        }
        with self._output().open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "medfed.flare.site_process"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, env=environment,
            )  # fmt: skip
        self._writer = FrameWriter(cast(BinaryIO, self._process.stdin))
        self._writer.write(SETUP, json.dumps(asdict(self._setup)).encode())
        threading.Thread(
            target=self._listen,
            args=(self._process, self._answers),
            name="medfed-role",
            daemon=True,
        ).start()
        return self._writer

    def _listen(
        self, process: "subprocess.Popen[bytes]", answers: "queue.Queue[bytes | None]"
    ) -> None:
        frames = cast(BinaryIO, process.stdout)
        while True:
            try:
                frame = read_frame(frames)
            except (OSError, ValueError):
                frame = None
            if frame is None:
                answers.put(None)
                return
            if frame[0] == PROGRESS:
                self._progress(frame[1])
            elif frame[0] == ANSWER:
                answers.put(frame[1])

    def _tell_stop(self) -> None:
        try:
            if self._writer is not None:
                self._writer.write(STOP)
        except OSError:
            return  # it has ended, which the answers tell

    def _output(self) -> Path:
        return Path(self._setup.state_dir) / "process.log"

    def _returncode(self) -> int | None:
        return self._process.wait() if self._process is not None else None
