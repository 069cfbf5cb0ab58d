"""Splits by patient: seeded, balanced over classes, kept as a file with a hash.

Axes: N cases, C classes, P patients, T parts.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from medfed.data.cases import Cases
from medfed.errors import CheckpointError, LeakageError
from medfed.files import write_atomically
from medfed.seeds import generator
from medfed.transforms import RawImage

__all__ = ["Split", "check_leakage", "pixel_digest", "split_by_patient"]

PARTS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class Split:
    """Positions of the cases of each part."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    def save(self, path: Path, cases: Cases) -> None:
        """Write the split down; it belongs to these very cases."""
        parts = {name: getattr(self, name).tolist() for name in PARTS}
        text = json.dumps({"cases": _identity(cases), **parts}, sort_keys=True)
        whole = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "split": json.loads(text)}
        write_atomically(path, json.dumps(whole, sort_keys=True).encode())

    @classmethod
    def load(cls, path: Path, cases: Cases) -> "Split":
        """A split that `save` wrote for the same cases.

        Raises:
            CheckpointError: the file is damaged, or the dataset has changed since.
        """
        try:
            whole = json.loads(path.read_text(encoding="utf-8"))
            split, digest = whole["split"], whole["sha256"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"{path}: is no split ({error}). Delete it to split again."
            ) from error
        if hashlib.sha256(json.dumps(split, sort_keys=True).encode()).hexdigest() != digest:
            raise CheckpointError(
                f"{path}: was changed after it was written. Delete it to split again."
            )
        if split["cases"] != _identity(cases):
            raise CheckpointError(
                f"{path}: belongs to other cases; the dataset has changed since the run began. "
                "Restore the files, or start the run again in a new folder.",
                upstream="the site's data changed since the run began",
            )
        return cls(*(np.array(split[name], np.int64) for name in PARTS))


def split_by_patient(cases: Cases, *, fractions: tuple[float, float, float], seed: int) -> Split:
    """Whole patients to train, validation and test, rare classes spread first.

    Patients come in seeded order, those with the rarest positive class first; each goes to the part that
    is furthest behind its share of that class, and of cases where that ties.

    Args:
        cases: N cases.
        fractions: share of each part; they sum to 1.
        seed: of the order.
    """
    share = np.array(fractions, np.float64)
    patients, owner = np.unique(np.asarray(cases.patients), return_inverse=True)
    positive = (cases.labels == 1).astype(np.float64)
    totals = np.zeros((len(patients), positive.shape[1] + 1))  # the last column counts cases
    np.add.at(totals, owner, np.concatenate([positive, np.ones((len(cases), 1))], axis=1))
    placed = np.zeros((len(share), totals.shape[1]))
    part_of = np.zeros(len(patients), np.int64)
    for patient, column in _rarest_first(totals, generator(seed, "split")):
        behind = share[:, None] * totals.sum(axis=0) - placed
        order = np.lexsort((-behind[:, -1], -behind[:, column]))
        part = next(int(p) for p in order if share[p] > 0)
        part_of[patient] = part
        placed[part] += totals[patient]
    split = Split(*(np.flatnonzero(part_of[owner] == part) for part in range(len(PARTS))))
    check_leakage(cases, split)
    return split


def pixel_digest(image: RawImage) -> str:
    """Hex digest of an image's pixels alone: two files of one image may differ in their headers."""
    head = f"{image.pixels.dtype.str}{image.pixels.shape}".encode()
    return hashlib.sha256(head + np.ascontiguousarray(image.pixels).tobytes()).hexdigest()


def check_leakage(cases: Cases, split: Split, *, pixels: bool = False) -> None:
    """Refuse a patient, and with `pixels` a pixel-identical image, that stands in two parts.

    Raises:
        LeakageError: names the patient or the two cases.
    """
    parts = [(name, getattr(split, name)) for name in PARTS]
    _refuse_shared(parts, lambda i: cases.patients[i], "patient", cases)
    if pixels:
        _refuse_shared(parts, lambda i: pixel_digest(cases.raw(i)), "image", cases)


def _refuse_shared(
    parts: list[tuple[str, np.ndarray]], key: Callable[[int], str], what: str, cases: Cases
) -> None:
    seen: dict[str, tuple[str, int]] = {}
    for name, indices in parts:
        for i in indices:
            other, first = seen.setdefault(key(int(i)), (name, int(i)))
            if other != name:
                raise LeakageError(
                    f"the {what} of {cases.names[i]} ({name}) also stands in {other} as {cases.names[first]}. "
                    f"Give a {what} to one part only."
                )


def _rarest_first(totals: np.ndarray, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Patients with the column that decides for each: its rarest positive class, else the count of cases."""
    frequency = np.where(totals.sum(axis=0) > 0, totals.sum(axis=0), np.inf)
    shuffled = rng.permutation(len(totals))
    decides = [int(np.where(totals[p] > 0, frequency, np.inf).argmin()) for p in shuffled]
    order = np.argsort(frequency[decides], kind="stable")
    return [(int(shuffled[i]), decides[i]) for i in order]


def _identity(cases: Cases) -> str:
    text = json.dumps([list(cases.names), list(cases.patients)])
    return hashlib.sha256(text.encode() + cases.labels.tobytes()).hexdigest()
