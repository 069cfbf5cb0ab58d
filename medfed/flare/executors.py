"""Executors: a method's site role, hosted in a site's NVFlare job process.

One base class does all of it: questions arrive as tasks or as auxiliary messages, the site's role
answers them from a process of its own, and every error becomes a refusal in fixed words. An
exception that left an executor would be logged by NVFlare, with whatever path it names.
"""

import hashlib
import logging
import threading
from pathlib import Path
from typing import ClassVar

from nvflare.apis.engine_spec import EngineSpec
from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

from medfed.errors import MedfedError, WireError
from medfed.flare.filters import outgoing
from medfed.flare.hosting import HostedRole, Setup
from medfed.flare.parcel import (
    ALIVE_TOPIC,
    PROGRESS_TOPIC,
    STEP_TOPIC,
    TASKS,
    contents,
    parcel,
    reply,
)
from medfed.flare.places import arrived_job, site_file, state_dir
from medfed.flare.site_log import keep_log_at_site
from medfed.messages import Refusal
from medfed.roles.endpoint import UNEXPECTED
from medfed.wire import encode

__all__ = ["FedKDExecutor", "SiteExecutor"]

logger = logging.getLogger("medfed.site")
ALIVE_S = 5.0  # a sign of life of some hundred bytes; the server gives a site nine of them


class SiteExecutor(Executor):
    """Hosts one site role; a subclass names the method.

    Args:
        job: the whole job as one JSON text.
        fingerprint: the job's fingerprint when it was submitted.

    Raises:
        ConfigError: the job is not one of this method, or was changed on its way.
    """

    method: ClassVar[str]

    def __init__(self, job: str, fingerprint: str) -> None:
        super().__init__()
        self.job = job
        self.fingerprint = fingerprint
        self._checked = arrived_job(job, fingerprint, method=self.method)
        self._asking = (
            threading.Lock()
        )  # auxiliary handlers run on NVFlare's threads; a role answers one at a time
        self._role: HostedRole | None = None
        self._ended = threading.Event()
        self._abort: Signal | None = None
        self._engine: EngineSpec | None = None
        self._last_step: tuple[str, Shareable] | None = None
        self.register_event_handler(EventType.START_RUN, self._start)
        self.register_event_handler([EventType.ABOUT_TO_END_RUN, EventType.END_RUN], self._end)

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Shareable:
        """Answer one question; NVFlare filters what this returns."""
        if not task_name.startswith(TASKS.removesuffix("*")):
            return make_reply(ReturnCode.BAD_REQUEST_DATA)
        with self._asking:
            self._abort = abort_signal
            try:
                return reply(self._answer(shareable, fl_ctx))
            finally:
                self._abort = None

    def _start(self, event_type: str, fl_ctx: FLContext) -> None:
        del event_type
        self._engine = fl_ctx.get_engine()
        keep_log_at_site(state_dir(_workspace(fl_ctx), fl_ctx.get_identity_name()), "executor.log")
        self._engine.register_aux_message_handler(topic=STEP_TOPIC, message_handle_func=self._step)
        threading.Thread(target=self._tell_alive, name="medfed-alive", daemon=True).start()

    def _end(self, event_type: str, fl_ctx: FLContext) -> None:
        del event_type, fl_ctx
        self._ended.set()
        if self._role is not None:
            self._role.close()

    def _step(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
        """Answer an auxiliary question; the same one again gets the same bytes."""
        try:
            digest = hashlib.sha256(contents(request, sender="server")).hexdigest()
        except WireError:
            return make_reply(ReturnCode.BAD_REQUEST_DATA)
        with self._asking:
            if self._last_step is None or self._last_step[0] != digest:
                self._last_step = (
                    digest,
                    outgoing(reply(self._answer(request, fl_ctx)), topic, fl_ctx),
                )
            return self._last_step[1]

    def _answer(self, shareable: Shareable, fl_ctx: FLContext) -> bytes:
        try:
            question = contents(shareable, sender="server")
            return self._hosted(fl_ctx).handle(question)
        except MedfedError as error:
            logger.exception("refused: %s", error.local)
            return encode(Refusal(error.code, error.upstream[:400]))
        except Exception:
            logger.exception("unexpected error")
            return encode(Refusal("unexpected", UNEXPECTED))

    def _hosted(self, fl_ctx: FLContext) -> HostedRole:
        """The role's process, made at the first question."""
        if self._role is None:
            name, workspace = fl_ctx.get_identity_name(), _workspace(fl_ctx)
            setup = Setup(
                job=self.job, name=name, site_file=str(site_file(workspace, name)),
                state_dir=str(state_dir(workspace, name)), threads=self._checked.threads,
            )  # fmt: skip
            self._role = HostedRole(setup, progress=self._tell_progress, stop=self._stopped)
        return self._role

    def _stopped(self) -> bool:
        return self._ended.is_set() or bool(self._abort is not None and self._abort.triggered)

    def _tell_progress(self, data: bytes) -> None:
        self._send(PROGRESS_TOPIC, data)

    def _tell_alive(self) -> None:
        while not self._ended.wait(ALIVE_S):
            self._send(ALIVE_TOPIC, b"")

    def _send(self, topic: str, data: bytes) -> None:
        """Send without waiting for a reply; what is lost is told again soon."""
        engine = self._engine
        if engine is None:
            return
        try:
            with engine.new_context() as fl_ctx:
                request = outgoing(parcel(data), topic, fl_ctx)
                engine.fire_and_forget_aux_request(
                    topic=topic, request=request, fl_ctx=fl_ctx, optional=True
                )
        except Exception:
            logger.exception("%s could not be sent", topic)


class FedKDExecutor(SiteExecutor):
    """One-shot distillation at a site."""

    method = "fedkd"


def _workspace(fl_ctx: FLContext) -> Path:
    return Path(fl_ctx.get_workspace().get_root_dir())
