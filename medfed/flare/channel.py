"""The Channel over NVFlare tasks: coarse questions such as train and predict.

A question is one broadcast task, so NVFlare's filters, audit and retries apply to it. The wait is
our own: an answer is handed on in name order as soon as its turn comes, a late or lost site
becomes a Failure, and nobody waits for a site that cannot answer any more.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable

from medfed.errors import Stopped, WireError
from medfed.flare.parcel import contents, parcel, task_name
from medfed.flare.presence import Presence
from medfed.messages import Message
from medfed.roles.channel import Answer, Envelope, Failure

__all__ = ["FlareChannel", "Inbox"]

SPOOLED = 1 << 20  # bytes; a larger answer waits for its turn on disk, not in memory
POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class _Arrived:
    seconds: float
    data: bytes | Path | Failure


class Inbox:
    """Answers to one question, from their arrival until their turn."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._arrived: dict[str, _Arrived] = {}
        self._news = threading.Condition()
        self._started = time.monotonic()

    def put(self, site: str, shareable: object) -> None:
        """Take one answer in; called from NVFlare's threads."""
        found = self._kept(site, shareable)
        with self._news:
            self._arrived.setdefault(site, _Arrived(time.monotonic() - self._started, found))
            self._news.notify_all()

    def take(self, site: str) -> tuple[float, bytes | Failure] | None:
        """Seconds and answer of one site, which is then forgotten here; None if it has not come."""
        with self._news:
            arrived = self._arrived.pop(site, None)
        if arrived is None:
            return None
        if isinstance(arrived.data, Path):
            data = arrived.data.read_bytes()
            arrived.data.unlink()
            return arrived.seconds, data
        return arrived.seconds, arrived.data

    def wait(self, seconds: float) -> None:
        """Sleep until something arrives, at most this long."""
        with self._news:
            self._news.wait(seconds)

    def _kept(self, site: str, shareable: object) -> bytes | Path | Failure:
        code = ReturnCode.ERROR
        if isinstance(shareable, Shareable):
            code = shareable.get_return_code()
        if code != ReturnCode.OK:
            return Failure(site, "refused", f"NVFlare return code {str(code)[:40]}")
        try:
            data = contents(shareable, sender=site)
        except WireError as error:
            return Failure(site, "invalid", error.local)
        if len(data) <= SPOOLED:
            return data
        with tempfile.NamedTemporaryFile(dir=self._folder, prefix="answer-", delete=False) as file:
            file.write(data)
        return Path(file.name)


class FlareChannel:
    """Puts questions to sites as NVFlare tasks.

    Args:
        controller: the NVFlare controller that hosts the server role.
        fl_ctx: its context.
        sites: who takes part.
        envelope: seals, opens and records.
        presence: which sites are still there.
        stop: true when the run was asked to stop.
        spool: folder for large answers that wait for their turn.
    """

    def __init__(
        self,
        controller: Controller,
        fl_ctx: FLContext,
        sites: Sequence[str],
        envelope: Envelope,
        *,
        presence: Presence,
        stop: Callable[[], bool],
        spool: Path,
    ) -> None:
        self._controller = controller
        self._fl_ctx = fl_ctx
        self._sites = tuple(sorted(sites))
        self._envelope = envelope
        self._presence = presence
        self._stop = stop
        self._spool = spool

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of the sites, sorted."""
        return self._sites

    def ask(
        self, message: Message, sites: Sequence[str], *, phase: str, deadline_s: float | None
    ) -> Iterator[tuple[str, Answer]]:
        """One question to some sites, answers in name order.

        Raises:
            Stopped: the run was aborted while it waited.
        """
        names = sorted(sites)
        if not names:
            return
        question = self._envelope.seal(message)
        self._spool.mkdir(parents=True, exist_ok=True)
        inbox = Inbox(self._spool)
        task = Task(
            name=task_name(message.kind),
            data=parcel(question),
            result_received_cb=self._receiver(inbox),
        )
        ends = None if deadline_s is None else time.monotonic() + deadline_s
        # min_responses=0 keeps the task until every target has answered or it is cancelled.
        self._controller.broadcast(task, self._fl_ctx, targets=list(names), min_responses=0)
        try:
            for site in names:
                self._envelope.sent(site, message, question, phase=phase)
                seconds, found = self._next(site, inbox, task, ends)
                if isinstance(found, bytes):
                    yield site, self._envelope.open(site, found, phase=phase, seconds=seconds)
                else:
                    yield site, found
        finally:
            if task.completion_status is None:
                self._controller.cancel_task(task, fl_ctx=self._fl_ctx)

    def _receiver(self, inbox: Inbox) -> Callable[..., None]:
        def receive(client_task: ClientTask, fl_ctx: FLContext) -> None:
            del fl_ctx
            site = client_task.client.name
            self._presence.heard(site)
            inbox.put(site, client_task.result)
            client_task.result = None  # NVFlare would hold every answer until the task ends

        return receive

    def _next(
        self, site: str, inbox: Inbox, task: Task, ends: float | None
    ) -> tuple[float, bytes | Failure]:
        while True:
            # Read before the inbox, so that no answer slips between the two.
            over = task.completion_status is not None
            found = inbox.take(site)
            if found is not None:
                return found
            if self._stop():
                raise Stopped(
                    "the run was aborted while it waited for a site; what is finished is kept."
                )
            if ends is not None and time.monotonic() >= ends:
                return 0.0, Failure(site, "late", "no answer before the deadline")
            if over or self._presence.lost(site):
                return 0.0, Failure(site, "dead", "the site is not heard any more")
            inbox.wait(POLL_S)
