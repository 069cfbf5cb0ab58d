"""Report: the run folder's records in, tables, figures and one HTML file out.

Knows neither torch nor NVFlare. The heavy parts (jinja2, rich) are imported by the functions that
need them.
"""

from medfed.report.coverage import coverage_of
from medfed.report.page import build_report
from medfed.report.reading import RunRecord, read_run
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
from medfed.report.tables import print_run

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
    "RunRecord",
    "Scores",
    "Status",
    "WireRow",
    "build_report",
    "coverage_of",
    "print_run",
    "read_run",
]
