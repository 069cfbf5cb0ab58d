"""The gate: every message that leaves a site passes here, whatever the job asks."""

import hashlib
from typing import Any

import numpy as np

from medfed.errors import GateRefusal
from medfed.job import Job
from medfed.messages import (
    LogitsUpload,
    Message,
    Opened,
    Progress,
    RangeAnswer,
    VoteAnswer,
    array_fields,
    scalar_fields,
    weights_fields,
)
from medfed.privacy.ledger import Ledger
from medfed.privacy.policy import SitePolicy, check_job

__all__ = ["Gate"]


class Gate:
    """A site's check on what leaves, and its record of what left."""

    def __init__(self, policy: SitePolicy, ledger: Ledger, *, site: str, job: Job) -> None:
        self.policy = policy
        self._ledger = ledger
        self._site = site
        self._job = job
        self._told: set[str] = set()

    def admit(self) -> None:
        """Refuse a job that asks for less than the floor.

        Raises:
            GateRefusal: names the rule.
        """
        check_job(self.policy, self._job, site=self._site)

    def release(self, message: Message, data: bytes) -> None:
        """Let one encoded message out and write it down, or refuse.

        Raises:
            GateRefusal: names the rule.
        """
        self._check(message)
        self.record(message, data)

    def record(self, message: Message, data: bytes) -> None:
        """Write down a message that leaves; a refusal leaves unchecked, since it carries fixed words."""
        self._ledger.append(self._entry(message, data))

    def allows_progress(self, message: Progress) -> bool:
        """Whether progress may be told; the ledger gets one line a phase, not one a batch."""
        if message.kind not in self.policy.kinds:
            return False
        if message.phase not in self._told:
            self._told.add(message.phase)
            self._ledger.append(
                {"job": self._job.run_id(), "kind": message.kind, "phase": message.phase}
            )
        return True

    def _check(self, message: Message) -> None:
        policy = self.policy
        if message.kind not in policy.kinds:
            self._refuse("kinds", f"a message of kind {message.kind!r} may not leave")
        if weights_fields(type(message)):
            self._refuse("kinds", "a network's weights may not leave")
        if isinstance(message, Opened):
            counts = np.concatenate([message.positives, message.annotated, [message.samples]])
            if not policy.label_counts and counts.any():
                self._refuse("label_counts", "label counts may not leave")
            if (counts % policy.small_cell).any():
                self._refuse("small_cell", "an exact count may not leave")
        if isinstance(message, VoteAnswer) and message.cases % policy.small_cell:
            self._refuse("small_cell", "an exact count may not leave")
        if isinstance(message, RangeAnswer) and policy.noise_floor.mechanism != "none":
            self._refuse("noise_floor", "a range carries no noise and may not leave")
        if isinstance(message, LogitsUpload):
            self._check_logits(message)

    def _check_logits(self, message: LogitsUpload) -> None:
        floor = self.policy.noise_floor
        if message.cases > self.policy.most_public_cases:
            self._refuse("most_public_cases", "the public set is larger than this site answers")
        if message.bound > self.policy.largest_bound:
            self._refuse("largest_bound", "the logit range is wider than allowed")
        if message.levels != self._job.fedkd.levels:
            self._refuse("most_levels", "the logits are quantised otherwise than the job says")
        if floor.mechanism != "none" and not message.noise.startswith(floor.mechanism):
            self._refuse("noise_floor", "the logits carry less noise than demanded")

    def _refuse(self, rule: str, why: str) -> None:
        raise GateRefusal(
            f"{self._site}: [privacy] {rule} in site.toml: {why}.",
            upstream=f"site policy rule {rule}: {why}",
        )

    def _entry(self, message: Message, data: bytes) -> dict[str, Any]:
        kind = type(message)
        shapes = {n: list(np.shape(getattr(message, n))) for n in array_fields(kind)}
        numbers = {n: getattr(message, n) for n in scalar_fields(kind)}
        return {
            "job": self._job.run_id(),
            "kind": message.kind,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "shapes": shapes,
            "fields": numbers,
            "mechanism": getattr(message, "noise", "none"),
        }
