"""Folder evaluation: two folders of masks in; rows, summaries and one page out.

A case that cannot be scored is a row with a status and costs no other case.
"""

from medfed.evaluation.folders.evaluate import FolderResult, evaluate_folder
from medfed.evaluation.folders.pairing import Pair, Pairing, pair_files, read_pairs
from medfed.evaluation.folders.settings import Settings

__all__ = [
    "FolderResult", "Pair", "Pairing", "Settings", "evaluate_folder", "pair_files", "read_pairs",
]  # fmt: skip
