"""The in-process Channel: same roles, messages, gate and bytes as a real federation, without one."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence

from medfed.messages import Message
from medfed.roles.channel import Answer, Envelope
from medfed.roles.endpoint import SiteEndpoint

__all__ = ["LocalChannel"]


class LocalChannel:
    """Asks virtual sites one after the other in this process.

    Args:
        names: the sites.
        endpoint_of: makes a site's endpoint; its state is on disk, so it can be dropped and made again.
        envelope: seals, opens and records.
        kept: endpoints held in memory at once; thousands of virtual sites cost no more than this many.
    """

    def __init__(
        self,
        names: Sequence[str],
        endpoint_of: Callable[[str], SiteEndpoint],
        envelope: Envelope,
        *,
        kept: int = 8,
    ) -> None:
        self._names = tuple(sorted(names))
        self._endpoint_of = endpoint_of
        self._envelope = envelope
        self._kept = kept
        self._endpoints: OrderedDict[str, SiteEndpoint] = OrderedDict()

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of the sites, sorted."""
        return self._names

    def ask(
        self, message: Message, sites: Sequence[str], *, phase: str, deadline_s: float | None
    ) -> Iterator[tuple[str, Answer]]:
        """One question to some sites, in name order; a call in this process cannot be late."""
        del deadline_s
        question = self._envelope.seal(message)
        for site in sorted(sites):
            self._envelope.sent(site, message, question, phase=phase)
            started = time.perf_counter()
            answered = self._endpoint(site).handle(question)
            seconds = time.perf_counter() - started
            yield site, self._envelope.open(site, answered, phase=phase, seconds=seconds)

    def _endpoint(self, site: str) -> SiteEndpoint:
        if site not in self._endpoints:
            while len(self._endpoints) >= self._kept:
                self._endpoints.popitem(last=False)
            self._endpoints[site] = self._endpoint_of(site)
        self._endpoints.move_to_end(site)
        return self._endpoints[site]
