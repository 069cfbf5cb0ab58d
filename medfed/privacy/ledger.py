"""The site's ledger: one line for each message that left, fsynced and chained by hash."""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from medfed.errors import CheckpointError

__all__ = ["Ledger"]

FIRST = "0" * 64
CHUNK = 64 * 1024


class Ledger:
    """Append-only record of what left a site.

    Each line holds the digest of the line before, so a line that is changed or taken out shows.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, entry: dict[str, Any]) -> None:
        """Write one entry; it is on the disk when this returns.

        Two jobs of one site may write at the same time, so the file is locked meanwhile.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # freed when the file is closed, however that happens
            last = _whole_end(file)
            stamped = {
                "time": datetime.now(UTC).isoformat(timespec="seconds"),
                **entry,
                "previous": FIRST if last is None else hashlib.sha256(last).hexdigest(),
            }
            file.write(json.dumps(stamped, sort_keys=True).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def entries(self) -> Iterator[dict[str, Any]]:
        """Every entry, oldest first.

        Raises:
            CheckpointError: a line does not follow from the one before it.
        """
        last = FIRST
        for number, line in enumerate(self._lines(), start=1):
            try:
                entry = json.loads(line)
            except ValueError as error:
                raise CheckpointError(f"{self.path}:{number}: is not a ledger line.") from error
            if not isinstance(entry, dict) or entry.get("previous") != last:
                raise CheckpointError(
                    f"{self.path}:{number}: the ledger's chain is broken at this line."
                )
            last = hashlib.sha256(line.encode()).hexdigest()
            yield entry

    def _lines(self) -> Iterator[str]:
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as file:
            # A power cut may leave a last line without its end; that message was never sent.
            yield from (line[:-1] for line in file if line.endswith("\n"))


def _whole_end(file: BinaryIO) -> bytes | None:
    """Cut a torn last line off the file; the last whole line without its end, or None."""
    end, tail = file.seek(0, os.SEEK_END), b""
    start = end
    while start > 0 and tail.count(b"\n") < 2:
        start = max(0, start - CHUNK)
        file.seek(start)
        tail = file.read(end - start)
    whole, newline, torn = tail.rpartition(b"\n")
    if torn:
        file.truncate(end - len(torn))
    file.seek(0, os.SEEK_END)
    return whole.rpartition(b"\n")[2] if newline else None
