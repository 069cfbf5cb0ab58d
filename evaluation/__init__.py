"""Evaluation: predictions and references in, scores out. Needs neither NVFlare nor torch."""

from medfed.evaluation.bootstrap import bootstrap_interval
from medfed.evaluation.classification import Auroc, AurocIntervals, auroc, bootstrap_auroc

__all__ = ["Auroc", "AurocIntervals", "auroc", "bootstrap_auroc", "bootstrap_interval"]
