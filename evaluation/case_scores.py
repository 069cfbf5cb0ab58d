"""All overlap and surface scores of a case from one pass, for one mask or for each label and region.

Axes: D H W voxels.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from medfed.evaluation.absence import Outcome, absent_distance
from medfed.evaluation.checks import InputError, checked_spacing, same_shape
from medfed.evaluation.label_maps import label_crops, region_masks
from medfed.evaluation.overlap import Counts
from medfed.evaluation.percentiles import percentile_mm
from medfed.evaluation.surface import combined_mm
from medfed.evaluation.surface_field import Measured, measured

__all__ = ["DEFINITIONS", "RegionScores", "score_case", "score_mask"]

TOLERANCE_MM = 1.0  # about one voxel of the brain and nuclei data; every table must state its own

DEFINITIONS = {
    "dice": "2|P and R|/(|P|+|R|); both empty nan, one empty 0",
    "iou": "|P and R|/|P or R|; both empty nan, one empty 0",
    "sensitivity": "|P and R|/|R|; both empty nan, one empty 0",
    "specificity": "sensitivity of the background, over the whole image",
    "precision": "|P and R|/|P|; both empty nan, one empty 0",
    "hausdorff": "larger directed maximum over surface voxels; one empty inf, both nan",
    "hd95": "larger directed 95th percentile, linear (MONAI); one empty inf, both nan",
    "hd95_pooled": "95th percentile of both directions together (MedPy); one empty inf, both nan",
    "average_surface_distance": "mean over the voxels of both surfaces; one empty inf, both nan",
    "surface_dice": "share of surface voxels within tolerance_mm; both empty nan, one empty 0",
}


@dataclass(frozen=True, slots=True)
class RegionScores:
    """Scores of one mask pair; distances in millimetres. DEFINITIONS names what each one is.

    Attributes:
        outcome: the absence rule's word.
        both: voxels in both masks.
        pred: voxels of the prediction.
        ref: voxels of the reference.
        voxels: voxels of the image.
        voxel_size: cubic millimetres of one (square ones for an image).
        tolerance_mm: of surface_dice.
    """

    outcome: Outcome
    dice: float
    iou: float
    sensitivity: float
    specificity: float
    precision: float
    hausdorff: float
    hd95: float
    hd95_pooled: float
    average_surface_distance: float
    surface_dice: float
    both: int
    pred: int
    ref: int
    voxels: int
    voxel_size: float
    tolerance_mm: float

    def as_dict(self) -> dict[str, Any]:
        """The scores by name."""
        return asdict(self)


def score_mask(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    *,
    spacing_mm: Any = None,  # noqa: ANN401
    tolerance_mm: float = TOLERANCE_MM,
) -> RegionScores:
    """All scores of one mask pair.

    Args:
        pred: (H, W) or (D, H, W) any type; foreground is non-zero.
        ref: same shape.
        spacing_mm: one number an axis in array order; None for ones.
        tolerance_mm: of surface_dice.

    Raises:
        InputError: shapes, types or spacing that cannot be scored.
    """
    return _scores(measured(pred, ref, spacing_mm), None, tolerance_mm)


def score_case(
    pred: Any,  # noqa: ANN401
    ref: Any,  # noqa: ANN401
    *,
    labels: Iterable[int] | None = None,
    regions: Mapping[str, Iterable[int]] | None = None,
    spacing_mm: Any = None,  # noqa: ANN401
    tolerance_mm: float = TOLERANCE_MM,
) -> dict[str, RegionScores]:
    """All scores of each label and region of a label map.

    The box that holds both maps is cut out once; each region is scored inside it.

    Args:
        pred: (H, W) or (D, H, W) label map, integral, 0 is background.
        ref: same shape.
        labels: labels to score, named by their number; None: every label of either map, unless
            regions are given.
        regions: label sets by name, such as {"whole tumour": (1, 2, 4)}.
        spacing_mm: one number an axis in array order; None for ones.
        tolerance_mm: of surface_dice.

    Returns:
        Scores by name, labels first. A label that neither map holds has outcome `both_empty`.

    Raises:
        InputError: shapes, types, labels or spacing that cannot be scored.
    """
    pred, ref = np.asarray(pred), np.asarray(ref)
    same_shape(pred, ref)
    spacing = checked_spacing(spacing_mm, ref.ndim)
    crops = label_crops(pred, ref)
    if labels is None:
        labels = [] if regions else crops.present()
    wanted: dict[str, tuple[int, ...]] = {str(int(label)): (int(label),) for label in labels}
    for name, members in (regions or {}).items():
        if name in wanted:
            raise InputError(f"region {name!r} has the name of a label; give it another.")
        wanted[name] = tuple(int(member) for member in members)
    scores = {}
    for name, members in wanted.items():
        masks = region_masks(crops, members)
        pair = measured(*masks, tuple(spacing[a] for a in crops.order))
        scores[name] = _scores(pair, pred.shape, tolerance_mm)
    return scores


def _scores(pair: Measured, shape: tuple[int, ...] | None, tolerance_mm: float) -> RegionScores:
    if not tolerance_mm >= 0:
        raise InputError(f"tolerance_mm={tolerance_mm} must be at least 0.")
    voxels = int(np.prod(pair.shape if shape is None else shape))
    counts = Counts(pair.both, pair.pred, pair.ref, voxels)
    full, high, pooled, mean, within = _surface_scores(pair, tolerance_mm)
    return RegionScores(
        outcome=pair.outcome, dice=counts.dice(), iou=counts.iou(),
        sensitivity=counts.sensitivity(), specificity=counts.specificity(),
        precision=counts.precision(), hausdorff=full, hd95=high, hd95_pooled=pooled,
        average_surface_distance=mean, surface_dice=within, both=pair.both, pred=pair.pred,
        ref=pair.ref, voxels=voxels, voxel_size=float(np.prod(pair.spacing_mm)),
        tolerance_mm=float(tolerance_mm),
    )  # fmt: skip


def _surface_scores(pair: Measured, tolerance_mm: float) -> tuple[float, ...]:
    if pair.outcome != "scored":
        absent = absent_distance(pair.outcome)
        return absent, absent, absent, absent, float("nan") if pair.outcome == "both_empty" else 0.0
    pooled = np.concatenate([pair.pred_mm2, pair.ref_mm2])
    high = combined_mm(pair, 95.0, "max")
    high_pooled = percentile_mm(pooled, 95.0)
    distances = np.sqrt(pooled, out=pooled)
    within = float(np.count_nonzero(distances <= tolerance_mm) / distances.size)
    return float(distances.max()), high, high_pooled, float(distances.mean()), within
