"""Multi-label targets with holes, and the result that names them.

Axes: N cases, C labels.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from medfed.evaluation.checks import InputError, checked_choice, same_shape

__all__ = ["LabelColumns", "LabelScores", "Uncertain", "label_columns"]

Uncertain = Literal["ignore", "zeros", "ones"]


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """Scores and targets after every check.

    Attributes:
        scores: (N, C) float64.
        targets: (N, C) int8: 1 positive, 0 negative, -1 left out.
        unlabelled: (C,) cases whose target is nan.
        uncertain: (C,) cases whose target is -1, whatever the policy made of them.
    """

    scores: np.ndarray
    targets: np.ndarray
    unlabelled: np.ndarray
    uncertain: np.ndarray

    def column(self, c: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores (M,) float64 and positives (M,) bool of the cases known for label c."""
        known = self.targets[:, c] >= 0
        return self.scores[known, c], self.targets[known, c] == 1


class LabelScores(float):
    """One score a label; as a number, it is their mean.

    Attributes:
        per_label: (C,) float64; nan where the score is undefined.
        macro: mean of the defined labels; nan where none is.
        positives: (C,) int64 positive cases used.
        negatives: (C,) int64 negative cases used.
        unlabelled: (C,) int64 cases left out, as their target is nan.
        uncertain: (C,) int64 cases whose target is -1.
        undefined: how many labels the macro leaves out.
        thresholds: (C,) the operating point, where the score has one; otherwise None.
    """

    per_label: np.ndarray
    macro: float
    positives: np.ndarray
    negatives: np.ndarray
    unlabelled: np.ndarray
    uncertain: np.ndarray
    undefined: int
    thresholds: np.ndarray | None

    def __new__(
        cls, per_label: np.ndarray, columns: LabelColumns, thresholds: np.ndarray | None = None
    ) -> "LabelScores":
        """Scores per label, with the counts of the columns they came from."""
        defined = per_label[~np.isnan(per_label)]
        macro = float(defined.mean()) if defined.size else float("nan")
        scores = super().__new__(cls, macro)
        scores.per_label = per_label
        scores.macro = macro
        scores.positives = (columns.targets == 1).sum(axis=0)
        scores.negatives = (columns.targets == 0).sum(axis=0)
        scores.unlabelled = columns.unlabelled
        scores.uncertain = columns.uncertain
        scores.undefined = int(per_label.size - defined.size)
        scores.thresholds = thresholds
        return scores

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (float(self), self.__dict__)

    def __repr__(self) -> str:
        return f"LabelScores(macro={self.macro:.6g}, per_label={self.per_label.tolist()})"


def _restored(macro: float, state: dict[str, Any]) -> LabelScores:
    scores = float.__new__(LabelScores, macro)
    scores.__dict__.update(state)
    return scores


def label_columns(
    scores: Any,  # noqa: ANN401
    targets: Any,  # noqa: ANN401
    *,
    uncertain: Uncertain = "ignore",
    probabilities: bool = False,
) -> LabelColumns:
    """Checked scores and targets as columns.

    Args:
        scores: (N,) or (N, C) numbers.
        targets: same shape: 1, 0, nan for not labelled, -1 for uncertain.
        uncertain: leave uncertain cases out, or count them as negative (zeros) or positive (ones).
        probabilities: whether scores outside [0, 1] are refused; they are never passed through a
            sigmoid.

    Raises:
        InputError: shapes differ, a target is another number, or a labelled case has no finite
            score.
    """
    checked_choice(uncertain, ("ignore", "zeros", "ones"), "uncertain")
    values, truth = _numbers(scores, "scores"), _numbers(targets, "targets")
    same_shape(values, truth)
    if values.ndim not in (1, 2):
        raise InputError(f"scores {values.shape} must be (cases,) or (cases, labels).")
    if values.ndim == 1:
        values, truth = values[:, None], truth[:, None]
    missing, unsure = np.isnan(truth), truth == -1
    if not (missing | unsure | (truth == 0) | (truth == 1)).all():
        raise InputError("targets must be 0, 1, nan (not labelled) or -1 (uncertain).")
    codes = np.where(missing, -1, truth).astype(np.int8)
    if uncertain != "ignore":
        codes[unsure] = 1 if uncertain == "ones" else 0
    _check_known_scores(values[codes >= 0], probabilities=probabilities)
    return LabelColumns(values, codes, missing.sum(axis=0), unsure.sum(axis=0))


def _numbers(values: Any, name: str) -> np.ndarray:  # noqa: ANN401
    array = np.asarray(values)
    if array.dtype.kind not in "buif":
        raise InputError(f"{name} of type {array.dtype} are not real numbers.")
    return array.astype(np.float64)


def _check_known_scores(known: np.ndarray, *, probabilities: bool) -> None:
    if not np.isfinite(known).all():
        raise InputError(
            f"{int((~np.isfinite(known)).sum())} labelled cases have a score that is nan or "
            "infinite; give every labelled case a score, or mark its target nan."
        )
    if probabilities and known.size and not (known.min() >= 0 and known.max() <= 1):
        raise InputError("this score needs probabilities in [0, 1]; apply a sigmoid first.")
