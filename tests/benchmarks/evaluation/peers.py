"""The other tools behind one call each: (prediction, reference, spacing) in, a number out."""

import contextlib
import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

Score = Callable[[np.ndarray, np.ndarray, tuple[float, ...]], float]
InstanceScore = Callable[[np.ndarray, np.ndarray], float]


def hd95_peers() -> tuple[dict[str, tuple[Score, str]], list[str]]:
    """HD95 by tool with the definition of ours that it must equal, and the tools that are missing."""
    found, missing = {}, []
    for name, definition, make in (
        ("MONAI", "monai", _monai), ("surface-distance", "deepmind", _deepmind), ("MedPy", "medpy", _medpy),
        ("panoptica", "panoptica", _panoptica), ("seg-metrics", "", _seg_metrics),
    ):  # fmt: skip
        try:
            found[name] = (make(), definition)
        except (ImportError, AttributeError) as error:
            missing.append(f"{name} ({error})")
    return found, missing


def instance_peers() -> tuple[dict[str, tuple[InstanceScore, str]], list[str]]:
    """Instance scores by tool, with the field of ours that it must equal, and what is missing."""
    found: dict[str, tuple[InstanceScore, str]] = {
        "hover_net style AJI": (hover_net_style_aji, "aji_kumar")
    }
    missing = []
    for name, field, make in (
        ("cellpose AJI", "", _cellpose), ("panoptica PQ", "pq", _panoptica_pq),
        ("torchmetrics PQ", "pq", _torchmetrics_pq), ("MONAI PQ", "pq", _monai_pq),
    ):  # fmt: skip
        try:
            found[name] = (make(), field)
        except (ImportError, AttributeError) as error:
            missing.append(f"{name} ({error})")
    return found, missing


def _monai() -> Score:
    import torch
    from monai.metrics import compute_hausdorff_distance

    def score(pred: np.ndarray, ref: np.ndarray, spacing: tuple[float, ...]) -> float:
        one, other = torch.from_numpy(pred)[None, None], torch.from_numpy(ref)[None, None]
        return float(
            compute_hausdorff_distance(
                one, other, include_background=True, percentile=95, spacing=list(spacing)
            )
        )

    return score


def _deepmind() -> Score:
    from scipy import ndimage

    if not hasattr(np, "Inf"):
        np.Inf = np.inf  # the package predates numpy 2
    import surface_distance.metrics as metrics

    metrics.ndimage = SimpleNamespace(
        filters=SimpleNamespace(correlate=ndimage.correlate),
        morphology=SimpleNamespace(distance_transform_edt=ndimage.distance_transform_edt),
    )
    return lambda pred, ref, spacing: metrics.compute_robust_hausdorff(
        metrics.compute_surface_distances(ref, pred, spacing), 95
    )


def _medpy() -> Score:
    from medpy.metric.binary import hd95

    return lambda pred, ref, spacing: hd95(pred, ref, spacing)


def _panoptica() -> Score:
    from panoptica.metrics.hausdorff_distance import _compute_instance_hausdorff_distance95

    return lambda pred, ref, spacing: _compute_instance_hausdorff_distance95(
        ref, pred, voxelspacing=spacing
    )


def _seg_metrics() -> Score:
    from seg_metrics.seg_metrics import write_metrics

    def score(pred: np.ndarray, ref: np.ndarray, spacing: tuple[float, ...]) -> float:
        one, other = pred.astype(np.uint8), ref.astype(np.uint8)
        with contextlib.redirect_stdout(io.StringIO()):
            found: Any = write_metrics(
                labels=[1],
                gdth_img=other,
                pred_img=one,
                spacing=list(spacing),
                metrics=["hd95"],
                TPTNFPFN=False,
            )
        return float(np.ravel(found[0]["hd95"] if isinstance(found, list) else found["hd95"])[0])

    return score


def _cellpose() -> InstanceScore:
    from cellpose.metrics import aggregated_jaccard_index

    return lambda pred, ref: float(aggregated_jaccard_index([ref], [pred])[0])


def _panoptica_pq() -> InstanceScore:
    from panoptica import InputType, NaiveThresholdMatching, Panoptica_Evaluator

    # Centre distances and the like are switched off: IoU and Dice are the least it computes.
    from panoptica.metrics import Metric

    judge = Panoptica_Evaluator(
        expected_input=InputType.UNMATCHED_INSTANCE, instance_matcher=NaiveThresholdMatching(),
        instance_metrics=[Metric.IOU], global_metrics=[], decision_threshold=0.5, decision_metric=Metric.IOU,
    )  # fmt: skip
    return lambda pred, ref: float(
        judge.evaluate(pred.astype(np.uint32), ref.astype(np.uint32))["ungrouped"].pq
    )


def _torchmetrics_pq() -> InstanceScore:
    import torch
    from torchmetrics.functional.detection import panoptic_quality

    def score(pred: np.ndarray, ref: np.ndarray) -> float:
        one, other = (
            torch.from_numpy(np.stack([m > 0, m], axis=-1).astype(np.int64))[None]
            for m in (pred, ref)
        )
        return float(
            panoptic_quality(one, other, things={1}, stuffs={0}, return_per_class=True)[0, 0]
        )

    return score


def _monai_pq() -> InstanceScore:
    import torch
    from monai.metrics import compute_panoptic_quality

    return lambda pred, ref: float(
        compute_panoptic_quality(torch.from_numpy(pred), torch.from_numpy(ref))
    )


def hover_net_style_aji(pred: np.ndarray, ref: np.ndarray) -> float:
    """Kumar's AJI the way hover_net computes it: one mask an object, one comparison a pair."""
    refs = {i: ref == i for i in np.unique(ref) if i}
    preds = {i: pred == i for i in np.unique(pred) if i}
    shared = union = 0
    used = set()
    for mask in refs.values():
        best, best_id, best_pair = 0.0, None, (0, 0)
        for i in np.unique(pred[mask]):
            if not i:
                continue
            inter = int(np.logical_and(mask, preds[i]).sum())
            total = int(mask.sum() + preds[i].sum() - inter)
            if inter / total > best:
                best, best_id, best_pair = inter / total, i, (inter, total)
        if best_id is None:
            union += int(mask.sum())
            continue
        used.add(best_id)
        shared, union = shared + best_pair[0], union + best_pair[1]
    union += sum(int(mask.sum()) for i, mask in preds.items() if i not in used)
    return shared / union
