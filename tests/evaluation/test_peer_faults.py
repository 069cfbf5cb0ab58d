"""What the tools in use get wrong, each as a claim about ours (design notes on metrics list them)."""

import math

import numpy as np
import pytest

from medfed import evaluation as ev

pytestmark = pytest.mark.usefixtures("backend")
ID = 2**33


def square(size=20, low=5, high=10, value=1):
    mask = np.zeros((size, size), np.uint8)
    mask[low:high, low:high] = value
    return mask


EMPTY = np.zeros((20, 20), np.uint8)


def test_monai_missing_nine_of_ten_lesions_is_not_perfect():
    distances = [ev.hd95(square(), square())] + [ev.hd95(EMPTY, square())] * 9
    found = ev.summarise(distances, penalty=374)
    assert found.mean == math.inf
    assert found.missed == 9
    assert found.penalised_mean == pytest.approx(0.9 * 374)


def test_monai_a_false_positive_on_an_empty_reference_counts_in_the_mean():
    found = ev.summarise([ev.dice(square(), square()), ev.dice(square(), EMPTY)])
    assert found.mean == 0.5


@pytest.mark.parametrize("value", [255, 2, 128])
def test_monai_and_seg_metrics_a_mask_of_255_is_a_mask(value):
    assert ev.dice(square(value=value), square()) == 1
    assert ev.hd95(square(value=value), square()) == 0
    assert ev.score_mask(square(value=value), square()).dice == 1


def test_monai_panoptic_quality_is_exact_and_ids_are_wide():
    labels = square().astype(np.int64) * (ID + 1)
    found = ev.panoptic_quality(labels, labels)
    assert found.pq == 1.0
    assert math.isnan(ev.panoptic_quality(EMPTY, EMPTY).pq)
    two = labels.copy()
    two[12:15, 12:15] = 1  # equal to the first id modulo 2^32 or 2^33
    assert ev.panoptic_quality(two, two).tp == 2
    assert ev.aji(two, two) == 1


def test_medpy_empty_sides_get_a_value_and_bad_spacing_none():
    assert ev.hd95(EMPTY, square(), definition="medpy") == math.inf
    with pytest.raises(ValueError, match="above 0"):
        ev.hd95(square(), square(), spacing_mm=(0, 1), definition="medpy")
    with pytest.raises(ValueError, match="differ in shape"):
        ev.hd95(square(), square()[:1], definition="medpy")


def test_hover_net_ids_with_gaps_no_background_and_empty_maps():
    gaps = square().astype(int) * 700
    assert ev.aji(gaps, square(), definition="hovernet") == 1
    full = np.ones((6, 6), int)
    assert ev.aji(full, full, definition="hovernet") == 1
    assert ev.panoptic_quality(full, full).pq == 1
    assert math.isnan(ev.aji(EMPTY, EMPTY, definition="hovernet"))
    assert ev.aji(EMPTY, square(), definition="hovernet") == 0


def test_seg_metrics_full_images_have_a_surface():
    full = np.ones((8, 8, 8), np.uint8)
    assert ev.hd95(full, full) == 0
    part = full.copy()
    part[:2] = 0
    assert ev.hausdorff(part, full) == 2
    assert ev.hd95(EMPTY, square()) != 0


def test_gandlf_an_empty_prediction_is_not_perfect_unless_asked_for():
    assert ev.hd95(EMPTY, square()) == math.inf
    assert ev.hd95(EMPTY, square(), definition="gandlf") == 0


def test_panoptica_an_iou_of_a_half_is_no_match():
    pred, ref = np.array([[1, 0]]), np.array([[1, 1]])
    assert ev.panoptic_quality(pred, ref).tp == 0
    assert ev.panoptic_quality(pred, ref, at_threshold=True).tp == 1
    assert math.isnan(ev.average_surface_distance(EMPTY, EMPTY, definition="panoptica"))


def test_metricsreloaded_empties_raise_no_index_error():
    for definition in ("metricsreloaded", "monai", "deepmind", "panoptica", "pooled"):
        ev.hd95(EMPTY, EMPTY, definition=definition)
        ev.hd95(EMPTY, square(), definition=definition)


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (1, 1, 9), (1, 9, 9), (9, 9, 1), (9,)])
def test_torchmetrics_no_shape_is_special(shape):
    mask = np.zeros(shape, bool)
    mask.ravel()[2:5] = True
    assert ev.hd95(mask, mask) == 0
    assert ev.average_surface_distance(mask, mask) == 0
    assert ev.aji(mask, mask) == 1


def test_torchmetrics_scores_are_taken_as_they_are():
    scores, targets = (
        [-3.0, 40.0, 41.0, 5.0],
        [0, 1, 1, 0],
    )  # a sigmoid in float32 would tie 40 and 41
    assert ev.auroc(scores, targets).macro == 1
    assert math.isnan(ev.auroc([0.1, 0.2], [1, 1]).macro)
    assert math.isnan(ev.auroc([[0.1], [0.2]], [[math.nan], [math.nan]]).macro)


def test_deepmind_any_type_is_a_mask():
    assert ev.hd95(square().astype(np.int32), square().astype(float), definition="deepmind") == 0


def test_simpleitk_surface_not_region_and_no_error_on_empties():
    ring = square(low=2, high=18)
    ring[6:14, 6:14] = 0
    full = square(low=2, high=18)
    # the hole's edge is 3 pixels from the outer edge; the hole's middle is 4 pixels from the ring
    assert ev.hausdorff(full, ring) == 3
    assert ev.object_hausdorff(full, ring) == 4
    assert ev.hausdorff(EMPTY, full) == math.inf


def test_torch_quantile_has_no_limit_here():
    from medfed.evaluation.percentiles import percentile_mm

    squares = np.zeros(2**24 + 2, np.float32)
    squares[-1] = 4.0
    assert percentile_mm(squares, 95) == 0
    assert percentile_mm(squares, 100) == 2


def test_sklearn_labels_may_be_missing():
    assert ev.auroc([0.1, 0.9, 0.4], [0, 1, math.nan]).macro == 1


def test_nnunet_a_label_that_is_nowhere_leaves_the_mean_alone():
    found = ev.score_case(square(), square(), labels=[1, 2])
    summary = ev.summarise([scores.dice for scores in found.values()])
    assert (summary.mean, summary.undefined) == (1, 1)


def test_brats_brainmask_that_reads_as_almost_one_is_a_mask():
    """A scaled integer mask reads as 0.99999997: equal to 1 nowhere, not zero everywhere."""
    mask = square().astype(np.float32) * np.float32(0.99999994)
    assert ev.dice(mask, square()) == 1
