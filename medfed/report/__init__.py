"""Report: the run folder's records in, tables, figures and one HTML file out.

Knows neither torch nor NVFlare. The heavy parts (matplotlib, jinja2) are imported by the functions
that draw.
"""

from medfed.report.records import (
    MEAN,
    WHOLE,
    Coverage,
    Disclosure,
    Epoch,
    Event,
    Metric,
    Outcome,
    Phase,
    Receipt,
    RunFacts,
    Scores,
    Status,
    WireRow,
)
from medfed.report.run_folder import RunFolder

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
    "RunFolder",
    "Scores",
    "Status",
    "WireRow",
]
