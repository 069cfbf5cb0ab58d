"""Classification scores from counts of cases by score, which sites can add up.

A site counts its positive and negative cases in bins of the score. The AUROC of the added counts is that
of all cases together, but for pairs of a positive and a negative in one bin: they count half, and their
share says how far off that can be. Other scores come from the same whole numbers.

The counts are of few cases in rare bins; what may leave a hospital is for its gate to say.

Axes: C labels, B bins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from medfed.evaluation.checks import InputError
from medfed.evaluation.exact_sum import ExactSum
from medfed.evaluation.label_scores import Uncertain, label_columns

__all__ = ["BinnedAuroc", "LabelCounts"]

BINS = 1024  # an AUROC is then off by less than 0.001 for smooth scores; the bound is always given
FORMAT = 1


@dataclass(frozen=True, slots=True)
class BinnedAuroc:
    """AUROC from counts.

    Attributes:
        per_label: (C,) with pairs in one bin counted half; nan where a class is missing.
        bound: (C,) the AUROC of the cases themselves is at most this far away.
        macro: mean of the defined labels.
    """

    per_label: np.ndarray
    bound: np.ndarray
    macro: float


class LabelCounts:
    """Counts of probabilities by bin and class, and sums for Brier and calibration.

    Args:
        labels: C names.
        bins: of equal width over [0, 1].
        uncertain: what a target of -1 counts.
    """

    def __init__(
        self, labels: Sequence[str], *, bins: int = BINS, uncertain: Uncertain = "ignore"
    ) -> None:
        if not labels or bins < 1:
            raise InputError(
                f"{len(labels)} labels and {bins} bins: at least one of each is needed."
            )
        self.labels = tuple(labels)
        self.bins = int(bins)
        self.uncertain: Uncertain = uncertain
        self.reset()

    def reset(self) -> None:
        """Forget every case."""
        self.counts = np.zeros((2, len(self.labels), self.bins), np.int64)  # negatives, positives
        self.unlabelled = np.zeros(len(self.labels), np.int64)
        self.squares = [ExactSum()] * len(self.labels)

    def add(self, scores: Any, targets: Any) -> None:  # noqa: ANN401
        """Count a batch.

        Args:
            scores: (N, C) probabilities.
            targets: (N, C) 1, 0, nan for not labelled, -1 for uncertain.

        Raises:
            InputError: shapes, targets or scores that cannot be counted; the counts stay as they were.
        """
        columns = label_columns(scores, targets, uncertain=self.uncertain, probabilities=True)
        if columns.scores.shape[1] != len(self.labels):
            raise InputError(f"{columns.scores.shape[1]} columns for {len(self.labels)} labels.")
        for c in range(len(self.labels)):
            known, positive = columns.column(c)
            place = np.minimum((known * self.bins).astype(np.int64), self.bins - 1)
            for side in (0, 1):
                chosen = place[positive == bool(side)]
                self.counts[side, c] += np.bincount(chosen, minlength=self.bins)
            for square in ((known - positive) ** 2).tolist():
                self.squares[c] += square
        self.unlabelled += columns.unlabelled

    def merge(self, other: "LabelCounts") -> None:
        """Add another's counts.

        Raises:
            InputError: it counts other labels, bins or by another policy.
        """
        if self._what() != other._what():
            raise InputError(
                f"counts of {other._what()} cannot be added to counts of {self._what()}."
            )
        self.counts = self.counts + other.counts
        self.unlabelled = self.unlabelled + other.unlabelled
        self.squares = [a + b for a, b in zip(self.squares, other.squares, strict=True)]

    def auroc(self) -> BinnedAuroc:
        """AUROC of all counted cases, and how far binning can have moved it."""
        values, bounds = [], []
        for negative, positive in zip(*self.counts.tolist(), strict=True):
            # Python's whole numbers: a product of two counts of millions outgrows 64 bits in sums.
            pairs = sum(negative) * sum(positive)
            below = twice_won = tied = 0
            for n, p in zip(negative, positive, strict=True):
                twice_won += p * (2 * below + n)
                tied += p * n
                below += n
            values.append(twice_won / (2 * pairs) if pairs else np.nan)
            bounds.append(tied / (2 * pairs) if pairs else np.nan)
        per_label = np.array(values)
        defined = per_label[~np.isnan(per_label)]
        macro = float(defined.mean()) if defined.size else float("nan")
        return BinnedAuroc(per_label, np.array(bounds), macro)

    def brier(self) -> np.ndarray:
        """(C,) mean squared difference between probability and outcome; nan without known cases."""
        cases = self.counts.sum(axis=(0, 2)).tolist()
        return np.array([s.mean(n) for s, n in zip(self.squares, cases, strict=True)])

    def as_json(self) -> dict[str, Any]:
        """JSON scalars; bins as lists."""
        return {
            "format": FORMAT, "what": self._what(), "counts": self.counts.tolist(),
            "unlabelled": self.unlabelled.tolist(),
            "squares": [str(total.units) for total in self.squares],
        }  # fmt: skip

    def load(self, stored: Mapping[str, Any]) -> None:
        """Replace the counts by those of as_json.

        Raises:
            InputError: they are of something else, or damaged.
        """
        if not isinstance(stored, Mapping) or stored.get("format") != FORMAT:
            raise InputError("these are no counts of this version.")
        if stored.get("what") != self._what():
            raise InputError(f"these are counts of {stored.get('what')}, not of {self._what()}.")
        try:
            counts = np.array(stored["counts"])
            unlabelled = np.array(stored["unlabelled"])
            squares = [ExactSum(int(text)) for text in stored["squares"]]
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"these are no counts ({error}).") from None
        shapes = (counts.shape, unlabelled.shape, len(squares))
        if shapes != (self.counts.shape, self.unlabelled.shape, len(self.labels)):
            raise InputError("these counts have another shape.")
        if counts.dtype.kind != "i" or unlabelled.dtype.kind != "i" or counts.min() < 0:
            raise InputError("counts are whole numbers from 0.")
        self.counts, self.unlabelled, self.squares = counts, unlabelled, squares

    def _what(self) -> dict[str, Any]:
        return {"labels": list(self.labels), "bins": self.bins, "uncertain": self.uncertain}
