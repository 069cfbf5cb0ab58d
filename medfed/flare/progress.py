"""How far a party is, from the party to the server's run folder."""

import threading
import time
from collections.abc import Callable

from medfed.roles.channel import ProgressEvent

__all__ = ["Throttle"]


class Throttle:
    """Passes on a party's progress at a bounded rate; first and last steps of a phase always pass.

    Used at a site, so that a fast loop does not flood the network, and at the server, so that a
    site gone wild cannot fill its disk.

    Args:
        pass_on: gets the events that pass.
        interval_s: least time between two events of one phase.
        phases: most phases of one party that are passed on at all.
        clock: seconds that never run backwards.
    """

    def __init__(
        self,
        pass_on: Callable[[ProgressEvent], None],
        *,
        interval_s: float,
        phases: int = 64,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pass_on = pass_on
        self._interval_s = interval_s
        self._phases = phases
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[tuple[str, str], tuple[float, bool]] = {}

    def __call__(self, event: ProgressEvent) -> None:
        """Pass one event on, or drop it."""
        with self._lock:
            passes = self._admits(event)
        if passes:
            self._pass_on(event)

    def _admits(self, event: ProgressEvent) -> bool:
        key, now, ends = (event.party, event.phase), self._clock(), event.done >= event.total
        if key not in self._last:
            known = sum(party == event.party for party, _ in self._last)
            admitted = known < self._phases
        else:
            last, ended = self._last[key]
            admitted = now - last >= self._interval_s or (ends and not ended)
        if admitted:
            self._last[key] = (now, ends)
        return admitted
