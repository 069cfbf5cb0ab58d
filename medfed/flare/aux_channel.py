"""The Channel over NVFlare's auxiliary messages, for steps that task polling is too slow for.

Default task polling costs about two seconds an exchange, an auxiliary message some milliseconds. A
deadline follows the pace that was observed, so that one unplugged site does not hold up every step.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.server_engine_spec import ServerEngineSpec
from nvflare.apis.shareable import Shareable

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
        # Some minutes of steps: a site's pace may change, and the deadline with it.
        self._seconds: deque[float] = deque(maxlen=50)

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

    A site that misses `strikes` exchanges in a row is asked only every `retry_every` exchanges,
    so it can come back without holding up the others.

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
        engine: ServerEngineSpec,
        fl_ctx: FLContext,
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
            missed = Failure(site, "late", "the site missed the last exchanges")
            yield site, answers.pop(site, missed)

    def _worth_asking(self, site: str) -> bool:
        return self._missed[site] < self.strikes or self._exchanges % self.retry_every == 0

    def _send(self, sites: list[str], question: bytes, timeout_s: float) -> dict[str, Shareable]:
        if not sites:
            return {}
        sent = self._engine.send_aux_request(
            targets=sites, topic=STEP_TOPIC, request=parcel(question), timeout=timeout_s,
            fl_ctx=self._fl_ctx, optional=True,
        )  # fmt: skip
        return dict(sent or {})

    def _opened(self, site: str, shareable: Shareable | None, phase: str, seconds: float) -> Answer:
        code = ReturnCode.COMMUNICATION_ERROR
        if shareable is not None:
            code = shareable.get_return_code()
        if shareable is None or code != ReturnCode.OK:
            self._missed[site] += 1
            late = code in (ReturnCode.COMMUNICATION_ERROR, ReturnCode.ERROR)
            text = f"NVFlare return code {str(code)[:40]}"
            return Failure(site, "late" if late else "refused", text)
        self._missed[site] = 0
        try:
            data = contents(shareable, sender=site)
        except WireError as error:
            return Failure(site, "invalid", error.local)
        return self._envelope.open(site, data, phase=phase, seconds=seconds)
