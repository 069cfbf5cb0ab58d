"""Evaluation: predictions and references in, scores out. Needs neither NVFlare nor torch."""
