"""Folder evaluation: two folders of masks in; rows, summaries and one page out.

A case that cannot be scored is a row with a status and costs no other case. Names are loaded on first
use, so that the command can parse its options without an array library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medfed.evaluation.folders.evaluate import FolderResult, evaluate_folder
    from medfed.evaluation.folders.pairing import (
        Pair,
        Pairing,
        PatientRule,
        pair_files,
        read_pairs,
    )
    from medfed.evaluation.folders.results import read_results
    from medfed.evaluation.folders.settings import Settings

_MODULE_OF = {
    "FolderResult": "evaluate",
    "Pair": "pairing",
    "Pairing": "pairing",
    "PatientRule": "pairing",
    "Settings": "settings",
    "evaluate_folder": "evaluate",
    "pair_files": "pairing",
    "read_pairs": "pairing",
    "read_results": "results",
}

__all__ = [
    "FolderResult", "Pair", "Pairing", "PatientRule", "Settings", "evaluate_folder", "pair_files",
    "read_pairs", "read_results",
]  # fmt: skip


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
