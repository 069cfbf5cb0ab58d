"""The site's end of every transport: bytes of a question in, bytes of an answer out.

Here a site role meets the gate, the ledger and the answers that were already given. A question that
is asked again gets the bytes it got before, so noise is never drawn twice.
"""

import hashlib
import logging
from pathlib import Path
from typing import Protocol

import numpy as np

from medfed.errors import CheckpointError, ManifestMismatch, MedfedError, WireError
from medfed.files import write_atomically
from medfed.messages import Message, Open, Progress, Refusal
from medfed.privacy.gate import Gate
from medfed.roles.channel import ProgressEvent
from medfed.wire import decode, encode

__all__ = ["SiteEndpoint", "SiteRole"]

logger = logging.getLogger("medfed.site")
UNEXPECTED = "unexpected error; the site's own log says more"


class SiteRole(Protocol):
    """A method's part at one site."""

    questions: tuple[str, ...]  # message kinds that this role answers

    def open(self, question: Open) -> Message:
        """Check that the run fits this site and get ready; called again after a restart."""
        ...

    def answer(self, question: Message) -> Message:
        """Answer one question."""
        ...


class SiteEndpoint:
    """Hosts one site role behind bytes; a method's error becomes a Refusal, never an exception.

    Args:
        role: the method's part.
        gate: the site's check on what leaves.
        name: the site's name, for its log.
        state_dir: folder that outlives the process; answers are kept there.
    """

    def __init__(self, role: SiteRole, gate: Gate, *, name: str, state_dir: Path) -> None:
        self._role = role
        self._gate = gate
        self._name = name
        self._answers = state_dir / "answers"
        self._opening = state_dir / "opening.bin"
        self._opened = False

    def handle(self, data: bytes) -> bytes:
        """The answer to one question; never raises for what a method, a file or a message did."""
        try:
            return self._handle(data)
        except MedfedError as error:
            logger.exception("%s refuses: %s", self._name, error.local)
            return self._refusal(error.code, error.upstream)
        except Exception:
            logger.exception("%s met an unexpected error", self._name)
            return self._refusal("unexpected", UNEXPECTED)

    def progress(self, event: ProgressEvent) -> bytes | None:
        """One progress message that may leave, or None where the site's policy keeps it in."""
        message = Progress(event.phase, event.done, event.total)
        return encode(message) if self._gate.allows_progress(message) else None

    def _handle(self, data: bytes) -> bytes:
        question = decode(data, sender="server", expect=("open", *self._role.questions))
        if isinstance(question, Open):
            self._gate.admit()
            self._same_images(question)
            answer = self._role.open(question)
            self._opened = True
            write_atomically(self._opening, data)
            return self._released(answer)
        self._reopen()
        kept = self._answers / f"{hashlib.sha256(data).hexdigest()}.bin"
        if kept.exists():
            return kept.read_bytes()
        answered = self._released(self._role.answer(question))
        write_atomically(kept, answered)
        return answered

    def _reopen(self) -> None:
        """After a restart of this process, open again from the question that was kept."""
        if self._opened:
            return
        question = self._first_opening()
        if question is None:
            raise WireError(f"{self._name}: a question came before the run was opened.")
        self._gate.admit()
        self._role.open(question)
        self._opened = True

    def _first_opening(self) -> Open | None:
        """The opening question that was kept, or None where the run is new here."""
        if not self._opening.exists():
            return None
        question = decode(self._opening.read_bytes(), sender=str(self._opening), expect=("open",))
        if not isinstance(question, Open):
            raise CheckpointError(f"{self._opening}: is not an opening question.")
        return question

    def _same_images(self, question: Open) -> None:
        """Refuse other shared images under the same job: the answers that are kept are for the first."""
        first = self._first_opening()
        if first is None:
            return
        if not (
            np.array_equal(first.public, question.public)
            and np.array_equal(first.benchmark, question.benchmark)
        ):
            raise ManifestMismatch(
                f"{self._name}: this run began with other public or benchmark images, and what is kept in "
                f"{self._opening.parent} is for those. Give the job another name.",
                upstream="the shared images changed since this run began; give the job another name",
            )

    def _released(self, answer: Message) -> bytes:
        data = encode(answer)
        self._gate.release(answer, data)
        return data

    def _refusal(self, code: str, text: str) -> bytes:
        message = Refusal(code, text[:400])
        data = encode(message)
        self._gate.record(message, data)
        return data
