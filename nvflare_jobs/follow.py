"""Following a run's events.jsonl while somebody else writes it."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from medfed.roles.channel import ProgressEvent

__all__ = ["EventReader", "follow_events"]


class EventReader:
    """Reads the lines that were added to an events.jsonl since the last look.

    Args:
        path: the file; it need not exist yet.
        from_end: leave out what stands in it now, such as the lines of an earlier run.
    """

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        self._path = path
        self._offset = path.stat().st_size if from_end and path.exists() else 0

    def new(self) -> Iterator[ProgressEvent]:
        """Events that were added; a half-written line waits, a foreign one is skipped."""
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._offset += len(line)
                event = _event(line)
                if event is not None:
                    yield event


def follow_events(
    path: Path, alive: Callable[[], bool], *, interval_s: float = 0.25
) -> Iterator[ProgressEvent]:
    """Events as they are written, until `alive` says that nobody writes any more."""
    reader = EventReader(path)
    while True:
        going_on = alive()  # asked before the look, so that the last lines are not missed
        yield from reader.new()
        if not going_on:
            return
        time.sleep(interval_s)


def _event(line: bytes) -> ProgressEvent | None:
    try:
        found = json.loads(line)
        return ProgressEvent(
            str(found["site"]),
            str(found["phase"]),
            int(found["done"]),
            int(found["total"]),
            str(found.get("text", "")),
        )
    except (ValueError, KeyError, TypeError):
        return None
