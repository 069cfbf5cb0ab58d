"""Controllers: a method's server role, hosted in NVFlare's server job process.

One base class does all of it: it gives the role a Channel and a run folder, writes down what the
sites tell of their progress, answers an administrator who asks how far the run is, and copies the
results to where NVFlare offers them for download.
"""

import logging
import os
from pathlib import Path
from typing import ClassVar

from nvflare.apis.client import Client
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.widgets.info_collector import GroupInfoCollector, InfoCollector

from medfed.errors import ConfigError, MedfedError, Stopped, WireError
from medfed.flare.channel import FlareChannel
from medfed.flare.parcel import ALIVE_TOPIC, PROGRESS_TOPIC, contents
from medfed.flare.places import ENVIRONMENT, SERVER, arrived_job, run_folder_of, site_file
from medfed.flare.presence import Presence
from medfed.flare.progress import Throttle
from medfed.flare.results import offer_results, open_run_folder, write_failure
from medfed.messages import Progress
from medfed.report import RunFolder
from medfed.roles.channel import ProgressEvent
from medfed.wire import decode

__all__ = ["FedKDController", "ServerController"]

logger = logging.getLogger("medfed.server")
TASK_CHECK_S = 0.05  # the default of 0.2 s is a floor under every exchange
EVENTS_S = 0.25  # closest events of one party and phase in events.jsonl


class ServerController(Controller):
    """Hosts one server role; a subclass names the method.

    Args:
        job: the whole job as one JSON text.
        fingerprint: the job's fingerprint when it was submitted.
        silence_s: a site that sends no sign of life for this long counts as dead.
        join_s: a site that was never heard counts as dead this long after the start.

    Raises:
        ConfigError: the job is not one of this method, was changed on its way, or a time is not
        above 0.
    """

    method: ClassVar[str]

    def __init__(
        self, job: str, fingerprint: str, silence_s: float = 45.0, join_s: float = 300.0
    ) -> None:
        super().__init__(task_check_period=TASK_CHECK_S)
        for name, value in (("silence_s", silence_s), ("join_s", join_s)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
                raise ConfigError(f"{name}: must be a number of seconds above 0.")
        self.job = job
        self.fingerprint = fingerprint
        self.silence_s = silence_s
        self.join_s = join_s
        self._checked = arrived_job(job, fingerprint, method=self.method)
        self._presence = self._expected()
        self._tell: Throttle | None = None
        self._latest: dict[str, str] = {}
        self._panic = ""
        self.register_event_handler(InfoCollector.EVENT_TYPE_GET_STATS, self._answer_stats)
        self.register_event_handler(EventType.FATAL_SYSTEM_ERROR, self._note_panic)

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Get ready to hear the sites."""
        # Controller sets `task_check_period` on the communicator, which reads `_task_check_period`.
        self.communicator._task_check_period = TASK_CHECK_S
        self._presence = self._expected()
        engine = fl_ctx.get_engine()
        engine.register_aux_message_handler(topic=ALIVE_TOPIC, message_handle_func=self._hear_alive)
        engine.register_aux_message_handler(
            topic=PROGRESS_TOPIC, message_handle_func=self._hear_progress
        )

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Nothing is held that NVFlare does not free."""

    def process_result_of_unknown_task(
        self,
        client: Client,
        task_name: str,
        client_task_id: str,
        result: Shareable,
        fl_ctx: FLContext,
    ) -> None:
        """Drop an answer that came after its question was given up; the site is there again."""
        del client_task_id, result, fl_ctx
        logger.warning("%s: a late answer to %s was dropped", client.name, str(task_name)[:80])
        self._heard(client.name)

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Run the method; called by NVFlare once."""
        workspace = Path(fl_ctx.get_workspace().get_root_dir())
        path = run_folder_of(self._checked, workspace)
        try:
            self._run(open_run_folder(path, self._checked), workspace, abort_signal, fl_ctx)
        except Stopped as error:
            told = Stopped(self._panic or error.local)
            self._fail(path, told, fl_ctx, panic=not abort_signal.triggered)
        except MedfedError as error:
            self._fail(path, error, fl_ctx)
        except Exception as error:
            logger.exception("unexpected error in the server role")
            text = f"unexpected error at the server: {error!r}; its log says more."
            self._fail(path, MedfedError(text), fl_ctx)
        finally:
            self._offer(path, fl_ctx)

    def _offer(self, path: Path, fl_ctx: FLContext) -> None:
        """Copy what there is, also of a run that failed; the run folder itself stays."""
        try:
            offer_results(path, Path(fl_ctx.get_workspace().get_run_dir(fl_ctx.get_job_id())))
        except OSError as error:  # a list of such errors, as shutil gives it, is one too
            logger.error("the results could not be copied for download: %s", error)

    def _run(
        self, folder: RunFolder, workspace: Path, abort_signal: Signal, fl_ctx: FLContext
    ) -> None:
        from medfed.data import Site
        from medfed.roles.registry import envelope_for, server_role

        def stop() -> bool:
            return bool(abort_signal.triggered)

        def write(event: ProgressEvent) -> None:
            self._latest[event.party] = f"{event.phase} {event.done}/{event.total}"
            folder.append_event(event.party, event.phase, event.done, event.total, event.text)

        self._tell = Throttle(write, interval_s=EVENTS_S)
        run_dir = Path(fl_ctx.get_workspace().get_run_dir(fl_ctx.get_job_id()))
        channel = FlareChannel(
            self, fl_ctx, self._checked.federation.sites, envelope_for(folder),
            presence=self._presence, stop=stop, spool=run_dir / "medfed_spool",
        )  # fmt: skip
        site = Site.read(site_file(workspace, SERVER))
        role = server_role(
            self._checked, channel, site=site, run_folder=folder, progress=self._tell, stop=stop,
            environment=os.environ.get(ENVIRONMENT, "prod"),
        )  # fmt: skip
        role.run()
        if folder.status().outcome == "running":
            folder.finish("complete")

    def _fail(
        self, path: Path, error: MedfedError, fl_ctx: FLContext, *, panic: bool = True
    ) -> None:
        logger.error("the run ends: %s", error.local)
        write_failure(path, error)
        if panic:
            self.system_panic(f"medfed: {error.code}: {error.upstream}", fl_ctx)

    def _expected(self) -> Presence:
        sites = self._checked.federation.sites
        return Presence(sites, silence_s=self.silence_s, join_s=self.join_s)

    def _heard(self, site: str) -> None:
        self._presence.heard(site)

    def _hear_alive(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
        del topic, request
        self._heard(fl_ctx.get_peer_context().get_identity_name())
        return make_reply(ReturnCode.OK)

    def _hear_progress(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
        """Write down a site's progress; its name is a claim and decides about nothing else."""
        del topic
        site = fl_ctx.get_peer_context().get_identity_name()
        try:
            told = decode(contents(request, sender=site), sender=site, expect=("progress",))
        except WireError as error:
            logger.warning("progress was dropped: %s", error.local)
            return make_reply(ReturnCode.BAD_REQUEST_DATA)
        self._heard(site)
        if (
            self._tell is not None
            and isinstance(told, Progress)
            and site in self._checked.federation.sites
        ):
            self._tell(ProgressEvent(site, told.phase, told.done, told.total))
        return make_reply(ReturnCode.OK)

    def _answer_stats(self, event_type: str, fl_ctx: FLContext) -> None:
        """Answer `Session.show_stats(job_id, "server")` while the run goes."""
        del event_type
        collector = fl_ctx.get_prop(InfoCollector.CTX_KEY_STATS_COLLECTOR)
        if isinstance(collector, GroupInfoCollector):
            collector.set_info(
                group_name="medfed", info={"run": self._checked.run_id(), **self._latest}
            )

    def _note_panic(self, event_type: str, fl_ctx: FLContext) -> None:
        """Keep NVFlare's own reason for ending the run, which the abort signal does not carry."""
        del event_type
        self._panic = str(fl_ctx.get_prop(FLContextKey.EVENT_DATA, ""))[:400]


class FedKDController(ServerController):
    """One-shot distillation at the server."""

    method = "fedkd"
