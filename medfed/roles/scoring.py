"""Scores of models on the server's labelled benchmark.

Axes: M benchmark cases, C classes.
"""

import numpy as np

from medfed.data import Cases, Vocabulary
from medfed.evaluation import auroc, bootstrap_auroc, bootstrap_interval
from medfed.report.records import MEAN, WHOLE, Metric

__all__ = ["Scorer"]

RESAMPLES = 1_000


class Scorer:
    """Scores logits against the benchmark's labels; intervals resample patients.

    Args:
        benchmark: labelled cases.
        vocabulary: the job's classes.
        seed: of the bootstrap.
        dropped: (C,) bool: classes left out of every mean.
    """

    def __init__(
        self, benchmark: Cases, vocabulary: Vocabulary, *, seed: int, dropped: np.ndarray
    ) -> None:
        self._vocabulary = vocabulary
        self._seed = seed
        self._dropped = dropped
        self.labels = benchmark.labels
        self.groups = np.unique(np.asarray(benchmark.patients), return_inverse=True)[1].astype(
            np.int32
        )

    def probabilities(self, logits: np.ndarray) -> np.ndarray:
        """Class probabilities (M, C) float32; nan where a model has no say."""
        values = logits.astype(np.float64)
        if self._vocabulary.label_kind == "multi_label":
            return (1.0 / (1.0 + np.exp(-values))).astype(np.float32)
        filled = np.where(np.isnan(values), -np.inf, values)
        shifted = np.exp(filled - filled.max(axis=1, keepdims=True))
        return np.where(
            np.isnan(values), np.nan, shifted / shifted.sum(axis=1, keepdims=True)
        ).astype(np.float32)

    def metrics(self, model: str, scores: np.ndarray) -> list[Metric]:
        """AUROC of each class and their mean; accuracy as well where labels exclude each other.

        Args:
            model: its name in the report.
            scores: (M, C) probabilities; a column of nan where the model has no say.
        """
        silent = np.isnan(scores).all(axis=0) | self._dropped
        targets = np.where((self.labels < 0) | silent, np.nan, self.labels.astype(np.float64))
        shown = np.where(np.isnan(scores), 0.0, scores).astype(np.float64)
        result = auroc(shown, targets)
        interval = bootstrap_auroc(
            shown, targets, patients=self.groups, n=RESAMPLES, seed=self._seed
        )
        rows = []
        for c, name in enumerate(self._vocabulary.classes):
            known = ~np.isnan(targets[:, c])
            rows.append(Metric(
                model, name, "auroc", float(result.per_label[c]), float(interval.low[c]), float(interval.high[c]),
                int(known.sum()), int((targets[known, c] == 1).sum()),
            ))  # fmt: skip
        rows.append(Metric(
            model, MEAN, "auroc", float(result.macro), float(interval.macro_low), float(interval.macro_high),
            len(scores), 0,
        ))  # fmt: skip
        if self._vocabulary.label_kind == "single_label":
            rows.append(self._accuracy(model, scores))
        return rows

    def _accuracy(self, model: str, scores: np.ndarray) -> Metric:
        predicted = np.where(np.isnan(scores), -np.inf, scores).argmax(axis=1)
        right = (predicted == self.labels.argmax(axis=1)).astype(np.float64)
        low, high = bootstrap_interval(right, n=RESAMPLES, seed=self._seed, groups=self.groups)
        return Metric(
            model, WHOLE, "accuracy", float(right.mean()), low, high, len(right), int(right.sum())
        )
