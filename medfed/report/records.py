"""What a run folder records: one frozen dataclass a kind of row.

Axes: M benchmark cases, C classes of the job.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np

__all__ = [
    "MEAN",
    "WHOLE",
    "Coverage",
    "Disclosure",
    "Epoch",
    "Event",
    "Metric",
    "Outcome",
    "Phase",
    "Receipt",
    "RunFacts",
    "Scores",
    "Status",
    "WireRow",
    "WireRowLike",
]

MEAN = "mean"  # the class column of a mean over classes
WHOLE = "all"  # the class column of a score that knows no classes, such as accuracy
Outcome = Literal["running", "complete", "partial", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class Event:
    """How far one party is in one phase."""

    time: str  # UTC, ISO 8601
    site: str
    phase: str
    done: int
    total: int
    text: str = ""


class WireRowLike(Protocol):
    """Anything that describes one message on the wire, such as a Channel's own record."""

    @property
    def site(self) -> str:
        """Whom the server talked with."""
        ...

    @property
    def direction(self) -> str:
        """Down to the site or up from it."""
        ...

    @property
    def kind(self) -> str:
        """The message's kind."""
        ...

    @property
    def phase(self) -> str:
        """What the exchange was for."""
        ...

    @property
    def total_bytes(self) -> int:
        """Bytes of the whole message."""
        ...

    @property
    def payload_bytes(self) -> int:
        """Bytes of its arrays alone."""
        ...

    @property
    def seconds(self) -> float:
        """How long the answer took."""
        ...


@dataclass(frozen=True, slots=True)
class WireRow:
    """One message that crossed the wire, as the server saw it."""

    site: str
    direction: str  # "down" to the site, "up" from it
    kind: str
    phase: str
    total_bytes: int
    payload_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Metric:
    """One score of one model, with its 95 % interval.

    A model is named `site/NAME`, `ensemble/RULE` or `student`; the report makes titles of these.
    """

    model: str
    label: str  # a class, MEAN or WHOLE
    metric: str  # "auroc" or "accuracy"
    value: float  # nan where it is undefined
    low: float  # nan without an interval
    high: float
    cases: int  # cases with a known label
    positives: int


@dataclass(frozen=True, slots=True)
class Phase:
    """Seconds that one party spent in one phase; a phase that was resumed has several rows."""

    phase: str
    party: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch of the student's distillation."""

    epoch: int
    loss: float
    agreement: float  # with the ensemble, on public cases that the student is not fitted to
    selected: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """Whether a site took part in a phase; the last one for a (site, phase) counts."""

    site: str
    phase: str
    status: Literal["answered", "late", "dead", "refused", "invalid", "not_asked"]
    reason: str = ""  # words that may be shown anywhere
    seconds: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Disclosure:
    """One message that left a site; its digest is also in that site's own ledger."""

    site: str
    kind: str
    phase: str
    total_bytes: int
    sha256: str
    shapes: Mapping[str, list[int]] = field(default_factory=dict)
    mechanism: str = "none"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much the teachers' ensemble has to say about the public set."""

    cases: int
    entropy: float  # mean entropy of the ensemble's answer, 0 certain to 1 undecided
    spread: float  # standard deviation of the probability over cases, mean over classes
    histogram: tuple[int, ...]  # cases per tenth of entropy, from 0 to 1
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """Where a run stands."""

    outcome: Outcome
    reason: str = ""
    started: str = ""  # UTC, ISO 8601
    ended: str = ""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a run is; written when it starts, and again when a fact is learnt."""

    name: str
    method: str
    environment: str  # local, sim, poc or prod
    task: str
    task_kind: Literal["multi_label", "single_label"]
    classes: tuple[str, ...]
    sites: tuple[str, ...]
    seed: int
    synthetic: bool  # any image is a generated phantom, so no score says anything about patients
    data: str  # where the images come from, in a sentence without a path
    weighting: str  # the ensemble rule that the student was taught by, as in the models' names
    selection: str  # how the student's checkpoint was chosen
    dropped: tuple[str, ...] = ()  # classes that no site annotates: left out of loss and scores
    # dataset kind -> source label -> class; an empty class says that the label is ignored
    mapping: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    public_cases: int = 0
    benchmark_cases: int = 0
    benchmark_patients: int = 0
    networks: Mapping[str, str] = field(default_factory=dict)  # party -> network, in words
    student_bytes: int = 0  # the student's weights, for the comparison with weight averaging
    noise: str = "none"  # mechanism, scale and place, in words
    guarantee: str = ""  # a formal privacy guarantee in words; empty says that there is none
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Every model's scores on the benchmark that the server holds.

    Args:
        labels: (M, C) int8: 1 positive, 0 negative, -1 unknown.
        groups: (M,) int32: cases of one patient share a number; never a patient's own identifier.
        models: model name -> (M, C) float32, higher means more likely; nan for no answer.
    """

    labels: np.ndarray
    groups: np.ndarray
    models: Mapping[str, np.ndarray]
