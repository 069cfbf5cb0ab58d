"""The aggregated Jaccard index of two instance maps, in the definitions that papers use.

Axes: any number of image axes, the same for both maps.
"""

from typing import Any

import numpy as np

from medfed.evaluation.checks import checked_choice
from medfed.evaluation.contingency import Contingency, contingency
from medfed.evaluation.matching import MATCHES
from medfed.evaluation.presets import PRESETS

__all__ = ["AJI_DEFINITIONS", "aggregated_jaccard", "aji", "aji_plus"]

AJI_DEFINITIONS = (*MATCHES, "hovernet", "monuseg", "fullnet", "fediod")


def aji(pred: Any, ref: Any, *, definition: str = "sorted") -> float:  # noqa: ANN401
    """Aggregated Jaccard index: shared pixels of partners over all pixels that count.

    The denominator is the partners' unions and every object without a partner. Two empty maps are nan,
    one empty map is 0.

    Args:
        pred: instance map; 0 is background, ids may have gaps.
        ref: same shape.
        definition: `sorted` takes pairs by falling IoU, each object once (`fediod`); `kumar` lets
            each reference take its best prediction, reuse allowed (`hovernet`, `monuseg`); `greedy`
            goes by reference id, each taking the best not yet taken (`fullnet`); `aji_plus` is the
            optimal one-to-one assignment.

    Raises:
        InputError: shapes differ, or an id is negative or a fraction.

    Source: Kumar et al. 2017, algorithm 1; FedIOD eq. 12.

    >>> aji([[1, 1, 0, 2]], [[1, 1, 0, 0]])
    0.6666666666666666
    """
    checked_choice(definition, AJI_DEFINITIONS, "definition")
    rule = PRESETS[definition].aji if definition in PRESETS else definition
    table = contingency(pred, ref)
    return aggregated_jaccard(table, MATCHES[rule](table))


def aji_plus(pred: Any, ref: Any) -> float:  # noqa: ANN401
    """AJI with the optimal one-to-one assignment; arguments as in aji."""
    return aji(pred, ref, definition="aji_plus")


def aggregated_jaccard(table: Contingency, pairs: np.ndarray) -> float:
    """The index of chosen pairs.

    Args:
        table: of two maps.
        pairs: (M,) places of the pairs in the table.
    """
    if table.outcome == "both_empty":
        return float("nan")
    pred_free = np.ones(table.pred_ids.size, np.bool_)
    ref_free = np.ones(table.ref_ids.size, np.bool_)
    pred_free[table.pred[pairs]] = False
    ref_free[table.ref[pairs]] = False
    unmatched = table.pred_areas[pred_free].sum() + table.ref_areas[ref_free].sum()
    return float(table.overlap[pairs].sum() / (table.union()[pairs].sum() + unmatched))
