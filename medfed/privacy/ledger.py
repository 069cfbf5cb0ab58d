"""The site's ledger: one line for each message that left, fsynced and chained by hash."""

import hashlib
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from medfed.errors import CheckpointError

__all__ = ["Ledger"]

FIRST = "0" * 64


class Ledger:
    """Append-only record of what left a site.

    Each line holds the digest of the line before, so a line that is changed or taken out shows.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last = FIRST
        for line in self._lines():
            self._last = hashlib.sha256(line.encode()).hexdigest()

    def append(self, entry: dict[str, Any]) -> None:
        """Write one entry; it is on the disk when this returns."""
        stamped = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            **entry,
            "previous": self._last,
        }
        line = json.dumps(stamped, sort_keys=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._last = hashlib.sha256(line.encode()).hexdigest()

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
