"""The Channel over NVFlare's auxiliary messages: exchanges of every step, where task polling is too slow.

Default task polling costs about two seconds an exchange, an auxiliary message some milliseconds. A
deadline follows the pace that was observed, so that one unplugged site does not hold up every step.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

from nvflare.apis.fl_constant import ReturnCode

from medfed.errors import Stopped, WireError
from medfed.flare.parcel import STEP_TOPIC, contents, parcel
from medfed.messages import Message
from medfed.roles.channel import Answer, Envelope, Failure

__all__ = ["AuxChannel", "Pace"]


class Pace:
    """How long an exchange may take, from how long the last ones took.

    Args:
        floor_s: never shorter than this; a garbage collection or a page fault storm takes seconds.
        factor: multiple of the median exchange.
    """

    def __init__(self, *, floor_s: float = 5.0, factor: float = 10.0) -> None:
        self._floor_s = floor_s
        self._factor = factor
        self._seconds: deque[float] = deque(maxlen=50)  # a few minutes of steps: the pace may change

    def add(self, seconds: float) -> None:
        """Note one exchange that every asked site answered."""
        self._seconds.append(seconds)

    def limit(self, most_s: float) -> float:
        """Seconds for the next exchange; `most_s` until there is a pace.

        >>> pace = Pace()
        >>> pace.limit(60.0)
        60.0
        >>> pace.add(0.8)
        >>> pace.limit(60.0)
        8.0
        """
        if not self._seconds:
            return most_s
        return min(most_s, max(self._floor_s, self._factor * median(self._seconds)))


class AuxChannel:
    """Puts questions to sites as auxiliary messages; the executor answers from a handler.

    A site that misses `strikes` exchanges in a row is asked only every `retry_every` exchanges, so it can
    come back without holding up the others.

    Args:
        engine: NVFlare's server engine.
        fl_ctx: the controller's context.
        sites: who takes part.
        envelope: seals, opens and records.
        stop: true when the run was asked to stop.
        longest_s: deadline of the first exchange, and of any without a deadline of its own.
        pace: how the later deadlines follow.
    """

    strikes = 2
    retry_every = 50

    def __init__(
        self,
        engine: Any,  # noqa: ANN401 - NVFlare is untyped
        fl_ctx: Any,  # noqa: ANN401
        sites: Sequence[str],
        envelope: Envelope,
        *,
        stop: Callable[[], bool],
        longest_s: float = 60.0,
        pace: Pace | None = None,
    ) -> None:
        self._engine = engine
        self._fl_ctx = fl_ctx
        self._sites = tuple(sorted(sites))
        self._envelope = envelope
        self._stop = stop
        self._longest_s = longest_s
        self._pace = pace or Pace()
        self._missed = dict.fromkeys(self._sites, 0)
        self._exchanges = 0

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of the sites, sorted."""
        return self._sites

    def ask(
        self, message: Message, sites: Sequence[str], *, phase: str, deadline_s: float | None
    ) -> Iterator[tuple[str, Answer]]:
        """One question to some sites, answers in name order.

        Raises:
            Stopped: the run was aborted.
        """
        if self._stop():
            raise Stopped("the run was aborted; what is finished is kept.")
        names = sorted(sites)
        self._exchanges += 1
        asked = [name for name in names if self._worth_asking(name)]
        question = self._envelope.seal(message)
        for site in asked:
            self._envelope.sent(site, message, question, phase=phase)
        started = time.perf_counter()
        replies = self._send(asked, question, self._pace.limit(deadline_s or self._longest_s))
        seconds = time.perf_counter() - started
        answers = {site: self._opened(site, replies.get(site), phase, seconds) for site in asked}
        if asked and all(not isinstance(a, Failure) for a in answers.values()):
            self._pace.add(seconds)
        for site in names:
            yield site, answers.pop(site, Failure(site, "late", "the site missed the last exchanges"))

    def _worth_asking(self, site: str) -> bool:
        return self._missed[site] < self.strikes or self._exchanges % self.retry_every == 0

    def _send(self, sites: list[str], question: bytes, timeout_s: float) -> dict[str, Any]:
        if not sites:
            return {}
        sent = self._engine.send_aux_request(
            targets=sites, topic=STEP_TOPIC, request=parcel(question), timeout=timeout_s,
            fl_ctx=self._fl_ctx, optional=True,
        )  # fmt: skip
        return dict(sent or {})

    def _opened(self, site: str, shareable: Any, phase: str, seconds: float) -> Answer:  # noqa: ANN401
        code = shareable.get_return_code() if shareable is not None else ReturnCode.COMMUNICATION_ERROR
        if code != ReturnCode.OK:
            self._missed[site] += 1
            late = code in (ReturnCode.COMMUNICATION_ERROR, ReturnCode.ERROR)
            return Failure(site, "late" if late else "refused", f"NVFlare return code {str(code)[:40]}")
        self._missed[site] = 0
        try:
            data = contents(shareable, sender=site)
        except WireError as error:
            return Failure(site, "invalid", error.local)
        return self._envelope.open(site, data, phase=phase, seconds=seconds)
