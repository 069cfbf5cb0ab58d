"""The page of a classification."""

from dataclasses import asdict

from medfed.evaluation.folders.results import versions
from medfed.evaluation.label_tables import LabelResult, definitions
from medfed.evaluation.pages.classification_figures import curves
from medfed.evaluation.pages.page import number, rendered

__all__ = ["classification_page"]


def classification_page(result: LabelResult, *, title: str) -> str:
    """The page as HTML text.

    Args:
        result: a classification, scored.
        title: heading.
    """
    macro = result.macro
    interval = f"{number(macro.auroc_low)} to {number(macro.auroc_high)}, 95 %"
    tiles = [
        ("AUROC, mean of labels", number(macro.auroc), interval),
        ("AUPRC, mean of labels", number(macro.auprc), "average precision"),
        ("Brier score, mean of labels", number(macro.brier), f"ECE {number(macro.calibration_error)}"),
    ]  # fmt: skip
    patients = len(set(result.table.patients))
    context = {
        "title": title, "verb": "classification", "tiles": tiles, "result": result,
        "facts": f"{len(result.table.cases)} cases of {patients} patients · {len(result.rows)} labels",
        "curves": curves(result), "definitions": definitions(result.settings),
        "settings": asdict(result.settings), "versions": versions(),
    }  # fmt: skip
    return rendered("classification.html", context)
