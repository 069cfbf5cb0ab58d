"""Scores from counts of voxels.

Both masks empty is undefined (nan); one empty is 0. `both_empty` puts another value in place of nan, as
BraTS and GaNDLF do with 1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from medfed.evaluation.checks import same_shape
from medfed.evaluation.masks import foreground, mask_pair

__all__ = ["Counts", "counts", "dice", "iou", "precision", "sensitivity", "specificity"]

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Counts:
    """Voxels of a mask pair.

    Attributes:
        both: in prediction and reference (true positives).
        pred: in the prediction.
        ref: in the reference.
        voxels: all that are compared.
    """

    both: int
    pred: int
    ref: int
    voxels: int

    def dice(self, both_empty: float = NAN) -> float:
        """2 |P and R| / (|P| + |R|)."""
        return _ratio(2 * self.both, self.pred + self.ref, both_empty)

    def iou(self, both_empty: float = NAN) -> float:
        """|P and R| / |P or R|."""
        return _ratio(self.both, self.pred + self.ref - self.both, both_empty)

    def sensitivity(self, both_empty: float = NAN) -> float:
        """|P and R| / |R|; 0 for a reference that is empty while the prediction is not."""
        return _ratio(self.both, self.ref, 0.0 if self.pred else both_empty)

    def precision(self, both_empty: float = NAN) -> float:
        """|P and R| / |P|; 0 for a prediction that is empty while the reference is not."""
        return _ratio(self.both, self.pred, 0.0 if self.ref else both_empty)

    def specificity(self, both_empty: float = NAN) -> float:
        """Sensitivity of the background, whose absence follows the same rule."""
        return self.background().sensitivity(both_empty)

    def background(self) -> "Counts":
        """The counts of both complements."""
        neither = self.voxels - self.pred - self.ref + self.both
        return Counts(neither, self.voxels - self.pred, self.voxels - self.ref, self.voxels)


def counts(pred: Any, ref: Any, *, mask: Any = None) -> Counts:  # noqa: ANN401
    """Counts of a mask pair, over all voxels or inside `mask`.

    Args:
        pred: any shape and type; foreground is non-zero.
        ref: same shape.
        mask: same shape; voxels outside it are not looked at. None for all.

    Raises:
        InputError: shapes or types that cannot be scored.
    """
    pred, ref = mask_pair(pred, ref)
    voxels = pred.size
    predicted, true = pred != 0, ref != 0
    if mask is not None:
        inside = foreground(mask)
        same_shape(inside, ref)
        seen = inside != 0
        voxels = int(np.count_nonzero(seen))
        predicted, true = predicted & seen, true & seen
    in_pred, in_ref = int(np.count_nonzero(predicted)), int(np.count_nonzero(true))
    predicted &= true
    return Counts(int(np.count_nonzero(predicted)), in_pred, in_ref, voxels)


def dice(pred: Any, ref: Any, *, mask: Any = None, both_empty: float = NAN) -> float:  # noqa: ANN401
    """Dice coefficient, 2 |P and R| / (|P| + |R|).

    Args:
        pred: any shape and type; foreground is non-zero.
        ref: same shape.
        mask: voxels to look at; None for all.
        both_empty: the score of two empty masks.

    Raises:
        InputError: shapes or types that cannot be scored.

    >>> dice([1, 1, 0, 0], [0, 1, 1, 0])
    0.5
    """
    return counts(pred, ref, mask=mask).dice(both_empty)


def iou(pred: Any, ref: Any, *, mask: Any = None, both_empty: float = NAN) -> float:  # noqa: ANN401
    """Intersection over union (Jaccard index); arguments as in dice.

    >>> iou([1, 1, 0], [0, 1, 0])
    0.5
    """
    return counts(pred, ref, mask=mask).iou(both_empty)


def sensitivity(pred: Any, ref: Any, *, mask: Any = None, both_empty: float = NAN) -> float:  # noqa: ANN401
    """Share of the reference that is predicted (recall); arguments as in dice.

    >>> sensitivity([1, 1, 0, 0], [0, 1, 1, 0])
    0.5
    """
    return counts(pred, ref, mask=mask).sensitivity(both_empty)


def specificity(pred: Any, ref: Any, *, mask: Any = None, both_empty: float = NAN) -> float:  # noqa: ANN401
    """Share of the background that is left alone: the sensitivity of both complements.

    It depends on how much background the image or `mask` holds. `both_empty` is the score where
    neither side has background. Other arguments as in dice.

    >>> specificity([1, 1, 0, 0], [0, 1, 0, 0]) == 2 / 3
    True
    """
    return counts(pred, ref, mask=mask).specificity(both_empty)


def precision(pred: Any, ref: Any, *, mask: Any = None, both_empty: float = NAN) -> float:  # noqa: ANN401
    """Share of the prediction that is right; arguments as in dice.

    >>> precision([1, 1, 0, 0], [0, 1, 1, 0])
    0.5
    """
    return counts(pred, ref, mask=mask).precision(both_empty)


def _ratio(part: int, whole: int, absent: float) -> float:
    return part / whole if whole else absent
