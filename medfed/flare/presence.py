"""Which sites are still there, by when they were last heard.

Sites send a small sign of life while they compute, so a site that trains for a day is told apart
from one whose process was killed, without a deadline on training.
"""

import threading
import time
from collections.abc import Callable, Iterable

__all__ = ["Presence"]


class Presence:
    """When each site was last heard.

    Args:
        sites: who is expected. silence_s: a site that was heard before is lost after this many
        silent seconds. join_s: a site that was never heard is lost this many seconds after the
        start; importing torch
            in many processes on few cores takes minutes.
        clock: seconds that never run backwards.
    """

    def __init__(
        self,
        sites: Iterable[str],
        *,
        silence_s: float,
        join_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._silence_s = silence_s
        self._clock = clock
        self._lock = threading.Lock()
        self._expires = dict.fromkeys(sites, clock() + join_s)

    def heard(self, site: str) -> None:
        """Note that a site is there now; names that nobody expects are ignored."""
        with self._lock:
            if site in self._expires:
                self._expires[site] = self._clock() + self._silence_s

    def lost(self, site: str) -> bool:
        """Whether a site has been silent for too long; it may still come back."""
        with self._lock:
            return self._clock() > self._expires[site]
