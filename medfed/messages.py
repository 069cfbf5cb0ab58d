"""What crosses the wire: frozen, versioned messages of named arrays and JSON scalars.

Axes: N public cases, M benchmark cases, C classes of the job, S summary rows, B bytes.

A field that holds an array declares its dtype and axes with `array`; a field that holds named weights
declares `weights`. Everything else is a JSON scalar or a tuple of strings. `medfed.wire` encodes and
checks them; a message of a changed meaning gets a new VERSION.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

__all__ = [
    "KINDS",
    "ArraySpec",
    "Close",
    "Closed",
    "LogitsUpload",
    "Message",
    "Open",
    "Opened",
    "Predict",
    "Progress",
    "Range",
    "RangeAnswer",
    "Refusal",
    "Train",
    "Trained",
    "Vote",
    "VoteAnswer",
    "array_fields",
    "scalar_fields",
    "weights_fields",
]

KINDS: dict[str, type["Message"]] = {}
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """The dtype and axes of one array field; an axis is a letter (bound per message) or a number."""

    dtype: str
    axes: tuple[str, ...]


def array(dtype: str, axes: str) -> Any:  # noqa: ANN401 - dataclasses.field is untyped by design
    """A dataclass field that holds one array, such as ``array("uint8", "N 32")``."""
    return field(metadata={"array": ArraySpec(dtype, tuple(axes.split()))})


def weights() -> Any:  # noqa: ANN401 - dataclasses.field is untyped by design
    """A dataclass field that holds a network's named weights."""
    return field(metadata={"weights": True})


class Message:
    """The root of all messages; a subclass is a frozen dataclass with `kind` and VERSION."""

    kind: ClassVar[str]
    VERSION: ClassVar[int] = 1
    MAX_BYTES: ClassVar[int] = 64 * 1024

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        KINDS[cls.kind] = cls


def array_fields(kind: type[Message]) -> dict[str, ArraySpec]:
    """Name and spec of every array field of a message class."""
    return {f.name: f.metadata["array"] for f in fields(kind) if "array" in f.metadata}  # type: ignore[arg-type]


def weights_fields(kind: type[Message]) -> tuple[str, ...]:
    """Names of the fields that hold named weights."""
    return tuple(f.name for f in fields(kind) if "weights" in f.metadata)  # type: ignore[arg-type]


def scalar_fields(kind: type[Message]) -> dict[str, Any]:
    """Name and annotation of every field that travels as JSON."""
    return {f.name: f.type for f in fields(kind) if not f.metadata}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Open(Message):
    """Server to site: what the run is, and the sets of images that all parties must share."""

    kind = "open"
    MAX_BYTES = 256 * MIB

    run: str
    method: str
    medfed_version: str
    job: str  # fingerprint of job.toml
    pipeline: str  # fingerprint of the image pipeline
    vocabulary: str  # fingerprint of the label vocabulary
    public: np.ndarray = array("uint8", "N 32")  # SHA-256 of each public case, in the agreed order
    benchmark: np.ndarray = array("uint8", "M 32")  # the same for the benchmark set; M may be 0


@dataclass(frozen=True, slots=True)
class Opened(Message):
    """Site to server: ready, with the label counts that its policy lets out."""

    kind = "opened"

    medfed_version: str
    torch_version: str
    monai_version: str
    samples: int  # training cases, rounded to the site's small cell
    positives: np.ndarray = array("int64", "C")  # N_k^c, rounded to the site's small cell
    annotated: np.ndarray = array("int64", "C")  # cases with a known label, rounded likewise


@dataclass(frozen=True, slots=True)
class Train(Message):
    """Server to site: train your own network to completion."""

    kind = "train"

    run: str


@dataclass(frozen=True, slots=True)
class Trained(Message):
    """Site to server: training is complete; nothing about the data or the weights."""

    kind = "trained"

    epochs: int
    seconds: float
    skipped_files: bool  # whether any file was left out; the number stays at the site


@dataclass(frozen=True, slots=True)
class Range(Message):
    """Server to site: the largest logit magnitude on the public set (the paper's quantiser only)."""

    kind = "range"

    run: str
    question: str  # "public" or "benchmark"


@dataclass(frozen=True, slots=True)
class RangeAnswer(Message):
    """Site to server: max |z| over the asked set."""

    kind = "range_answer"

    largest: float


@dataclass(frozen=True, slots=True)
class Predict(Message):
    """Server to site: label the public (or benchmark) set once."""

    kind = "predict"

    run: str
    question: str  # "public" or "benchmark"
    mode: str  # quantiser mode
    levels: int  # S; 0 sends float32
    bound: float  # B, or the global z_max in paper mode
    confidence: bool  # also send one confidence per case


@dataclass(frozen=True, slots=True)
class LogitsUpload(Message):
    """Site to server: quantised, and where asked noised, logits on a public set."""

    kind = "logits"
    MAX_BYTES = 2048 * MIB

    question: str
    cases: int  # N
    levels: int
    bound: float
    encoding: str  # how `packed` is coded: see medfed.algorithms.packing
    noise: str  # mechanism applied at the site, in words; "none" without
    labelled: np.ndarray = array("bool", "C")  # classes this site has labels for
    packed: np.ndarray = array("uint8", "B")  # levels of the labelled classes, class-major
    confidence: np.ndarray = array(
        "uint8", "N"
    )  # confidence / 255 per case; empty unless asked for


@dataclass(frozen=True, slots=True)
class Vote(Message):
    """Server to site: score this candidate student on your own validation patients."""

    kind = "vote"
    MAX_BYTES = 2048 * MIB

    run: str
    candidate: int
    network: Mapping[str, np.ndarray] = weights()


@dataclass(frozen=True, slots=True)
class VoteAnswer(Message):
    """Site to server: one rounded score for a candidate."""

    kind = "vote_answer"

    candidate: int
    score: float  # mean AUROC (multi-label) or accuracy, rounded to two decimals
    cases: int  # validation cases behind it, rounded to the site's small cell


@dataclass(frozen=True, slots=True)
class Close(Message):
    """Server to site: the run is over; free what you hold."""

    kind = "close"

    run: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Closed(Message):
    """Site to server: done."""

    kind = "closed"

    messages_sent: int


@dataclass(frozen=True, slots=True)
class Refusal(Message):
    """Site to server: no, in fixed words that carry no path, name or count."""

    kind = "refusal"

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Progress(Message):
    """Site to server: which phase, how far. Counts of epochs and batches only."""

    kind = "progress"

    phase: str
    done: int
    total: int
