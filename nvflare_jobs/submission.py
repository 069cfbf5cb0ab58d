"""A job handed to a running NVFlare server, and what becomes of it."""

import contextlib
import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from medfed.errors import MedfedError, NotEnoughSites

__all__ = ["Submission"]

OVER = (
    "FINISHED",
    "ABORTED",
    "ABANDONED",
    "FAILED",
)  # how the states begin that a job never leaves
ASK_EVERY_S = 1.0
LOGIN_S = 5.0


class Submission:
    """One submitted job; inside `with`, a session with the server stands.

    Args:
        admin_kit: startup kit of who submits.
        exported: the job folder.
        sites: waited for before submission, since NVFlare takes no site into a job that runs.
        patience_s: how long to wait for the server and the sites.
    """

    def __init__(
        self, admin_kit: Path, exported: Path, *, sites: Sequence[str], patience_s: float
    ) -> None:
        self._admin_kit = admin_kit
        self._exported = exported
        self._sites = set(sites)
        self._patience_s = patience_s
        self._session: Any = None
        self._asked = 0.0
        self.job_id = ""
        self.status = ""

    def __enter__(self) -> Self:
        ends = time.monotonic() + self._patience_s
        self._session = self._login(ends)
        self._wait_for_sites(ends)
        self.job_id = self._session.submit_job(str(self._exported))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(Exception):  # the server may be gone
            if kind is not None and self.job_id:
                self._session.abort_job(self.job_id)
            self._session.close()

    def going_on(self) -> bool:
        """Whether the job is still waiting or running; asks the server about once a second."""
        if time.monotonic() - self._asked >= ASK_EVERY_S:
            self.status = str(self._session.get_job_status(self.job_id) or "")
            self._asked = time.monotonic()
        return not self.status.startswith(OVER)

    def _login(self, ends: float) -> Any:  # noqa: ANN401 - NVFlare is untyped
        from nvflare.fuel.flare_api.flare_api import new_secure_session

        def login() -> Any:  # noqa: ANN401
            with contextlib.redirect_stdout(io.StringIO()):  # it says that it is connecting
                return new_secure_session(
                    self._admin_kit.name, str(self._admin_kit), timeout=LOGIN_S
                )

        return _until(login, ends, "the NVFlare server does not answer")

    def _wait_for_sites(self, ends: float) -> None:
        while True:
            there = {client.name for client in self._session.get_connected_client_list()}
            missing = sorted(self._sites - there)
            if not missing:
                return
            if time.monotonic() > ends:
                raise NotEnoughSites(
                    f"{', '.join(missing)}: did not register with the server in time."
                )
            time.sleep(ASK_EVERY_S / 2)


def _until(attempt: Callable[[], Any], ends: float, complaint: str) -> Any:  # noqa: ANN401
    """What an attempt gives once it succeeds."""
    from nvflare.fuel.flare_api.api_spec import NoConnection

    while True:
        try:
            return attempt()
        except NoConnection as error:
            if time.monotonic() > ends:
                raise MedfedError(f"{complaint}: {error}") from error
            time.sleep(ASK_EVERY_S / 2)
