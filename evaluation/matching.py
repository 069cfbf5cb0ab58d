"""Who is whose partner: four rules over the pairs that overlap.

Axes: K pairs, M pairs chosen. A rule gives the places of its pairs in the table.
"""

from collections.abc import Callable

import numpy as np

from medfed.evaluation.contingency import Contingency

__all__ = [
    "MATCHES",
    "best_of_each",
    "greedy_pairs",
    "kumar_pairs",
    "optimal_pairs",
    "sorted_pairs",
]


def sorted_pairs(table: Contingency) -> np.ndarray:
    """By falling IoU (ties: lower reference id, then lower prediction id), each object once.

    Source: FedIOD eq. 12.
    """
    # The table is in order of reference and prediction already, and the sort is stable.
    return _taken_in_order(table, np.argsort(-table.iou(), kind="stable"))


def greedy_pairs(table: Contingency) -> np.ndarray:
    """References by rising id; each takes the prediction of highest IoU that is not yet taken.

    Source: the evaluation code of FullNet and AsynDGAN.
    """
    return _taken_in_order(table, np.lexsort((-table.iou(), table.ref)))


def kumar_pairs(table: Contingency) -> np.ndarray:
    """Each reference takes the prediction of highest IoU; a prediction may serve several.

    Source: Kumar et al. 2017; hover_net's get_fast_aji.
    """
    return best_of_each(table.ref, table.iou())


def optimal_pairs(table: Contingency) -> np.ndarray:
    """One-to-one pairs of the highest total IoU.

    Objects that touch no common object cannot compete, so each connected group is solved alone.

    Source: hover_net's get_fast_aji_plus.
    """
    if not table.overlap.size:
        return np.empty(0, np.int64)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    predicted, iou = table.pred_ids.size, table.iou()
    objects = predicted + table.ref_ids.size
    links = coo_array(
        (np.ones(iou.size, np.int8), (table.pred, table.ref + predicted)), (objects, objects)
    )
    group = connected_components(links, directed=False)[1][table.pred]
    alone = np.bincount(group)[group] == 1
    together = np.flatnonzero(~alone)
    together = together[np.argsort(group[together], kind="stable")]
    chosen = [np.flatnonzero(alone)]
    chosen += [
        members[_solved(table.pred[members], table.ref[members], iou[members])]
        for members in np.split(together, np.flatnonzero(np.diff(group[together])) + 1)
        if members.size
    ]
    return np.sort(np.concatenate(chosen))


def best_of_each(side: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The pair of the highest value of each object of one side; ties go to the earlier pair.

    Args:
        side: (K,) place of each pair's object.
        value: (K,) what is compared.
    """
    order = np.lexsort((-value, side))
    first = np.append(True, np.diff(side[order]) != 0)[: order.size]
    return np.asarray(order[first])


def _taken_in_order(table: Contingency, order: np.ndarray) -> np.ndarray:
    pred, ref = table.pred.tolist(), table.ref.tolist()
    pred_free, ref_free = [True] * table.pred_ids.size, [True] * table.ref_ids.size
    taken = []
    for pair in order.tolist():
        if pred_free[pred[pair]] and ref_free[ref[pair]]:
            pred_free[pred[pair]] = ref_free[ref[pair]] = False
            taken.append(pair)
    return np.array(taken, dtype=np.int64)


def _solved(pred: np.ndarray, ref: np.ndarray, iou: np.ndarray) -> np.ndarray:
    """Places of the chosen pairs of one connected group."""
    rows, columns = _numbered(pred), _numbered(ref)
    if max(rows) == 0 or max(columns) == 0:
        return np.array([iou.argmax()])
    from scipy.optimize import linear_sum_assignment

    gain = np.zeros((max(rows) + 1, max(columns) + 1))
    gain[rows, columns] = iou
    place = np.full(gain.shape, -1)
    place[rows, columns] = np.arange(iou.size)
    found = place[linear_sum_assignment(gain, maximize=True)]
    return np.asarray(found[found >= 0])


def _numbered(side: np.ndarray) -> list[int]:
    """The objects of a small group, numbered from 0 as they come."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(item, len(numbers)) for item in side.tolist()]


MATCHES: dict[str, Callable[[Contingency], np.ndarray]] = {
    "sorted": sorted_pairs,
    "kumar": kumar_pairs,
    "greedy": greedy_pairs,
    "aji_plus": optimal_pairs,
}
