"""The process that hosts a site role: `python -m medfed.flare.site_process`.

Knows no NVFlare. Frames come on standard input, frames go to what was standard output; it ends as
soon as the executor has ended.
"""

import json
import logging
import os
import queue
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from medfed.errors import MedfedError
from medfed.flare.frames import ANSWER, PROGRESS, QUESTION, SETUP, STOP, FrameWriter, read_frame
from medfed.flare.hosting import Setup
from medfed.flare.progress import Throttle
from medfed.flare.site_log import keep_log_at_site
from medfed.job import Job
from medfed.messages import Refusal
from medfed.roles.channel import ProgressEvent
from medfed.roles.endpoint import UNEXPECTED, SiteEndpoint
from medfed.wire import encode

__all__ = ["main"]

logger = logging.getLogger("medfed.site")
PROGRESS_S = 0.5  # faster than anybody reads
ORPHANED = 3  # exit code once the executor has ended


def main() -> int:
    """Answer questions until the executor ends."""
    questions, answers = _pipes()
    frame = read_frame(questions)
    if frame is None or frame[0] != SETUP:
        return ORPHANED
    setup = Setup(**json.loads(frame[1]))
    keep_log_at_site(Path(setup.state_dir), "site.log")
    writer, stop, asked = FrameWriter(answers), threading.Event(), queue.SimpleQueue[bytes]()
    threading.Thread(target=_listen, args=(questions, stop, asked), daemon=True).start()
    endpoint: SiteEndpoint | None = None
    while True:
        question = asked.get()
        try:
            endpoint = endpoint or _endpoint(setup, writer, stop)
            answer = endpoint.handle(question)
        except MedfedError as error:  # a site.toml that cannot be used, before there is an endpoint
            logger.exception("refused: %s", error.local)
            answer = encode(Refusal(error.code, error.upstream[:400]))
        except Exception:
            logger.exception("unexpected error")
            answer = encode(Refusal("unexpected", UNEXPECTED))
        writer.write(ANSWER, answer)


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Standard input, and what was standard output: a print must not break a frame."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return sys.stdin.buffer, answers


def _listen(questions: BinaryIO, stop: threading.Event, asked: "queue.SimpleQueue[bytes]") -> None:
    while True:
        frame = read_frame(questions)
        if frame is None:
            os._exit(ORPHANED)  # every state is whole on disk, and nobody waits for an answer
        if frame[0] == STOP:
            stop.set()
        elif frame[0] == QUESTION:
            asked.put(frame[1])


def _endpoint(setup: Setup, writer: FrameWriter, stop: threading.Event) -> SiteEndpoint:
    from medfed.data import Site
    from medfed.roles.registry import site_endpoint

    made: list[SiteEndpoint] = []

    def tell(event: ProgressEvent) -> None:
        data = made[0].progress(event) if made else None
        if data is not None:
            writer.write(PROGRESS, data)

    made.append(
        site_endpoint(
            Job.from_json(setup.job), Site.read(Path(setup.site_file)), name=setup.name,
            state_dir=Path(setup.state_dir), progress=Throttle(tell, interval_s=PROGRESS_S),
            stop=stop.is_set,
        )
    )  # fmt: skip
    return made[0]


if __name__ == "__main__":
    sys.exit(main())
