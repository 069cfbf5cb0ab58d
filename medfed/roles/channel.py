"""The Channel between a server role and the sites, and the envelope that every transport shares."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from medfed.errors import WireError
from medfed.messages import Message, Refusal, array_fields
from medfed.report.records import Disclosure
from medfed.wire import decode, encode, payload_bytes

__all__ = ["Answer", "Channel", "Envelope", "Failure", "ProgressEvent", "WireRecord"]

Reason = Literal["late", "dead", "refused", "invalid"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A site that gave no usable answer, and why in words that may be shown anywhere."""

    site: str
    reason: Reason
    text: str


Answer = Message | Failure


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """How far one party is in one phase."""

    party: str
    phase: str
    done: int
    total: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class WireRecord:
    """One message that crossed the wire, as the server saw it."""

    site: str
    direction: Literal["down", "up"]
    kind: str
    phase: str
    total_bytes: int
    payload_bytes: int
    seconds: float


class Channel(Protocol):
    """How a server role reaches its sites; the transport is behind it."""

    @property
    def sites(self) -> tuple[str, ...]:
        """Names of the sites that take part, sorted."""
        ...

    def ask(
        self, message: Message, sites: Sequence[str], *, phase: str, deadline_s: float | None
    ) -> Iterator[tuple[str, Answer]]:
        """Put one question to some sites; answers come in name order, one for each site.

        A slow, dead or refusing site gives a Failure. No answer outlives its turn in the iterator, so
        the memory a caller needs does not grow with the number of sites.

        Args:
            message: the question; the same bytes go to every site.
            sites: who is asked.
            phase: what the exchange is for; recorded.
            deadline_s: seconds after which a silent site counts as late; None waits for ever.
        """
        ...


class Envelope:
    """Seals questions and opens answers; records each message. One per run, whatever the transport.

    Args:
        record: told of every message, for wire.csv.
        disclose: told of every message that left a site, with its digest.
    """

    def __init__(
        self, record: Callable[[WireRecord], None], disclose: Callable[[Disclosure], None]
    ) -> None:
        self._record = record
        self._disclose = disclose

    def seal(self, message: Message) -> bytes:
        """The bytes of a question."""
        return encode(message)

    def sent(self, site: str, message: Message, data: bytes, *, phase: str) -> None:
        """Write down that a question went to a site."""
        self._record(
            WireRecord(site, "down", message.kind, phase, len(data), payload_bytes(message), 0.0)
        )

    def open(self, site: str, data: bytes, *, phase: str, seconds: float) -> Answer:
        """The answer in the bytes that a site sent; anything forged or refused becomes a Failure."""
        try:
            answer = decode(data, sender=site)
        except WireError as error:
            self._record(WireRecord(site, "up", "invalid", phase, len(data), 0, seconds))
            return Failure(site, "invalid", error.local)
        payload = payload_bytes(answer)
        self._disclose(_disclosure(site, answer, data, phase))
        self._record(WireRecord(site, "up", answer.kind, phase, len(data), payload, seconds))
        if isinstance(answer, Refusal):
            return Failure(site, "refused", f"{answer.code}: {answer.text}")
        return answer


def _disclosure(site: str, answer: Message, data: bytes, phase: str) -> Disclosure:
    shapes = {name: list(np.shape(getattr(answer, name))) for name in array_fields(type(answer))}
    return Disclosure(
        site,
        answer.kind,
        phase,
        len(data),
        hashlib.sha256(data).hexdigest(),
        shapes,
        str(getattr(answer, "noise", "none")),
    )
