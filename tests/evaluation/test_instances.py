import math

import brute_force as brute
import numpy as np
import pytest

from medfed.evaluation import (
    aji,
    aji_plus,
    instance_scores,
    matched_object_scores,
    object_dice,
    object_hausdorff,
    panoptic_quality,
)

pytestmark = pytest.mark.usefixtures("backend")
DEFINITIONS = ("sorted", "kumar", "greedy", "aji_plus")


def line(*runs):
    """An image of one row from (id, length) runs."""
    return np.array([[i for i, n in runs for _ in range(n)]])


def pairs(count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        shape = (
            tuple(rng.integers(8, 28, 2)) if rng.random() < 0.7 else tuple(rng.integers(5, 10, 3))
        )
        ref = brute.instances(rng, shape, rng.uniform(0.5, 1.5), rng.uniform(0, 1))
        pred = brute.shifted(rng, ref) if rng.random() < 0.7 else brute.instances(rng, shape, 1.0)
        yield pred, ref


def test_aji_by_hand_where_one_prediction_covers_two_references():
    # 1 overlaps 6 of 6 and 4 of 4, IoU .6 and .4
    pred, ref = line((1, 10)), line((1, 6), (2, 4))
    assert aji(pred, ref) == 6 / (10 + 4)
    assert aji(pred, ref, definition="greedy") == 6 / (10 + 4)
    assert aji_plus(pred, ref) == 6 / (10 + 4)
    assert aji(pred, ref, definition="kumar") == 10 / (10 + 10)  # used twice


def test_aji_by_hand_where_the_order_of_ids_steals():
    # reference 1 (pixels 0-3) meets prediction 1 in 1 pixel; reference 2 (4-9) is all of prediction 1 but 1
    pred, ref = line((0, 3), (1, 7)), line((1, 4), (2, 6))
    assert aji(pred, ref) == 6 / (7 + 4)
    assert aji(pred, ref, definition="greedy") == 1 / (10 + 6)
    assert aji(pred, ref, definition="kumar") == (1 + 6) / (10 + 7)
    assert aji_plus(pred, ref) == 6 / (7 + 4)


def test_aji_by_hand_where_the_highest_pair_is_not_the_best_plan():
    # IoU: (1,1) 3/8, (1,2) 4/9, (2,1) none, (2,2) 3/7: the plan (1,1) + (2,2) holds more than (1,2) alone
    pred = line((1, 7), (2, 3))
    ref = line((1, 3), (1, 1), (2, 3), (2, 3))
    assert [aji(pred, ref, definition=d) for d in DEFINITIONS] == pytest.approx(
        [brute.aji(pred, ref, d) for d in DEFINITIONS]
    )
    crossed_pred, crossed_ref = line((1, 4), (1, 3), (2, 3), (0, 4)), line((1, 4), (2, 6), (0, 4))
    assert aji_plus(crossed_pred, crossed_ref) >= aji(crossed_pred, crossed_ref)


def test_equal_pairs_go_to_the_lower_ids():
    pred, ref = line((5, 2), (3, 2)), line((9, 4))
    # both predictions overlap 2 of 4: 3 is taken, 5 is left over
    assert aji(pred, ref) == 2 / (4 + 2)
    found = matched_object_scores(pred, ref)
    assert (found.pairs, found.unmatched_pred, found.unmatched_ref) == (1, 1, 0)


def test_panoptic_quality_by_hand():
    # 1: 4 of 5 shared (IoU .8); 2: 1 of 2 (IoU .5, no match); 3 invented
    pred = line((1, 4), (0, 2), (2, 1), (0, 1), (3, 2))
    ref = line((1, 5), (0, 1), (2, 2), (0, 2))
    found = panoptic_quality(pred, ref)
    assert (found.tp, found.fp, found.fn) == (1, 2, 1)
    assert found.sq == 0.8
    assert found.dq == found.f1 == 1 / 2.5
    assert found.pq == pytest.approx(0.32)
    assert (found.precision, found.recall) == (1 / 3, 1 / 2)
    lenient = panoptic_quality(pred, ref, at_threshold=True)
    assert (lenient.tp, lenient.sq) == (2, 0.65)
    assert panoptic_quality(pred, ref, iou_threshold=0.3).tp == 2


def test_object_dice_by_hand():
    # reference 1 (6) and 2 (2); prediction 1 (4, all in 1), 2 (4, alone)
    pred, ref = line((1, 4), (0, 4), (2, 4)), line((1, 6), (0, 2), (2, 2), (0, 2))
    # reference 2 lies in prediction 2: 2 * 2 / (2 + 4)
    by_ref = 6 / 8 * (8 / 10) + 2 / 8 * (4 / 6)
    by_pred = 4 / 8 * (8 / 10) + 4 / 8 * (4 / 6)
    assert object_dice(pred, ref) == pytest.approx((by_ref + by_pred) / 2)


def test_object_dice_partners_by_overlap_or_iou():
    # reference 1 shares 3 pixels with the large object 1 and 2 with object 2, which is all inside
    pred, ref = line((1, 20), (2, 2)), line((0, 17), (1, 5))
    by_overlap = object_dice(pred, ref)
    by_iou = object_dice(pred, ref, match="iou")
    d1, d2 = 6 / 25, 4 / 7
    assert by_overlap == pytest.approx((d1 + 20 / 22 * d1 + 2 / 22 * d2) / 2)
    assert by_iou == pytest.approx((d2 + 20 / 22 * d1 + 2 / 22 * d2) / 2)


def test_object_hausdorff_by_hand():
    # partners 1: pixels 0-3 and 0-5, distance 2 steps; prediction 2 (8-9) alone: nearest reference object is 1
    pred, ref = line((1, 4), (0, 4), (2, 2)), line((1, 6), (0, 4))
    by_pred = 4 / 6 * 2 + 2 / 6 * 8  # region: from pixel 0 to pixel 8
    assert object_hausdorff(pred, ref) == pytest.approx((by_pred + 2) / 2)
    assert object_hausdorff(pred, ref, spacing_mm=(1, 0.5)) == pytest.approx((by_pred + 2) / 4)


def test_region_and_surface_points_differ_where_a_hole_is_filled():
    ring = np.ones((9, 9), int)
    ring[2:7, 2:7] = 0
    full = np.ones((9, 9), int)
    assert object_hausdorff(full, ring) == 3  # the centre is 3 pixels from the ring
    assert (
        object_hausdorff(full, ring, points="surface") == 1
    )  # the ring's inner edge is 1 from the outer one


def test_plain_means_cannot_see_what_is_missed():
    ref = line((1, 4), (0, 1), (2, 4), (0, 1), (3, 4))
    pred = line((1, 4), (0, 10))
    found = matched_object_scores(pred, ref)
    assert (found.dice, found.iou, found.hausdorff) == (1, 1, 0)
    assert (found.pairs, found.unmatched_pred, found.unmatched_ref) == (1, 0, 2)
    assert object_dice(pred, ref) < 0.7


def test_absence():
    empty, full = np.zeros((4, 4), int), np.ones((4, 4), int)
    for definition in DEFINITIONS:
        assert math.isnan(aji(empty, empty, definition=definition))
        assert (
            aji(empty, full, definition=definition) == aji(full, empty, definition=definition) == 0
        )
    nothing = panoptic_quality(empty, empty)
    assert all(
        math.isnan(v)
        for v in (nothing.pq, nothing.dq, nothing.sq, nothing.precision, nothing.recall)
    )
    assert (panoptic_quality(empty, full).pq, panoptic_quality(empty, full).sq) == (0, 0)
    assert math.isnan(object_dice(empty, empty))
    assert object_dice(full, empty) == object_dice(empty, full) == 0
    assert object_hausdorff(full, empty) == object_hausdorff(empty, full) == math.inf
    assert math.isnan(object_hausdorff(empty, empty))
    missed = matched_object_scores(empty, full)
    assert (missed.dice, missed.hausdorff, missed.unmatched_ref) == (0, math.inf, 1)
    assert math.isnan(matched_object_scores(empty, empty).dice)
    assert instance_scores(empty, empty).outcome == "both_empty"
    assert instance_scores(empty[:0], full[:0]).outcome == "both_empty"


def test_agreement_with_brute_force():
    for pred, ref in pairs(30):
        for definition in DEFINITIONS:
            expected = brute.aji(pred, ref, definition)
            assert aji(pred, ref, definition=definition) == pytest.approx(expected, nan_ok=True)
        for match in ("overlap", "iou"):
            expected = brute.object_dice(pred, ref, match)
            assert object_dice(pred, ref, match=match) == pytest.approx(expected, nan_ok=True)
        if pred.any() and ref.any():
            found = panoptic_quality(pred, ref)
            values = (found.pq, found.dq, found.sq, found.tp, found.fp, found.fn)
            assert values == pytest.approx(brute.panoptic(pred, ref))
            spacing = (2.0, 0.5, 1.0)[: pred.ndim]
            for match in ("overlap", "iou"):
                assert object_hausdorff(
                    pred, ref, spacing_mm=spacing, match=match
                ) == pytest.approx(brute.object_hausdorff(pred, ref, spacing, match))


def test_one_pass_gives_the_same_numbers():
    for pred, ref in pairs(15, seed=4):
        found = instance_scores(pred, ref)
        single = [aji(pred, ref, definition=d) for d in DEFINITIONS]
        assert [found.aji, found.aji_kumar, found.aji_greedy, found.aji_plus] == pytest.approx(
            single, nan_ok=True
        )
        assert [found.object_dice, found.object_dice_iou] == pytest.approx(
            [object_dice(pred, ref), object_dice(pred, ref, match="iou")], nan_ok=True
        )
        assert found.pq == pytest.approx(panoptic_quality(pred, ref).pq, nan_ok=True)


def test_ids_are_names_only():
    """Scores that know no order of ids stay the same when ids are dealt anew."""
    rng = np.random.default_rng(5)
    for pred, ref in pairs(15, seed=6):
        dealt = []
        for labels in (pred, ref):
            ids = np.unique(labels)
            fresh = np.zeros(int(ids.max()) + 1, np.int64)
            fresh[ids[1:] if ids[0] == 0 else ids] = (
                rng.permutation(10**6)[: (ids > 0).sum()] + 2**40
            )
            dealt.append(fresh[labels])
        before, after = instance_scores(pred, ref), instance_scores(*dealt)
        for name in ("pq", "aji_plus", "tp"):
            assert getattr(after, name) == pytest.approx(getattr(before, name), nan_ok=True)


@pytest.mark.parametrize("dtype", ["?", "u1", "u2", "i4", "u4", "i8", "u8", "f4", "f8", ">i4"])
def test_any_integral_type_and_layout(dtype):
    pred, ref = line((1, 4), (0, 2), (1, 2)), line((1, 5), (0, 3))
    expected = aji(pred, ref)
    assert aji(pred.astype(dtype), ref) == expected
    assert aji(np.asfortranarray(pred.astype(dtype)), ref[:, ::-1][:, ::-1]) == expected
    assert object_hausdorff(pred.astype(dtype), ref) == object_hausdorff(pred, ref)


def test_identical_maps_are_perfect():
    for _, ref in pairs(10, seed=7):
        if not ref.any():
            continue
        found = instance_scores(ref, ref)
        assert (found.aji, found.aji_kumar, found.aji_plus, found.pq, found.object_dice) == (
            1,
            1,
            1,
            1,
            1,
        )
        assert object_hausdorff(ref, ref) == 0


def test_real_nuclei_against_brute_force(data):
    from PIL import Image
    from scipy.ndimage import label

    rng = np.random.default_rng(0)
    for path in sorted((data / "nuclei" / "tnbc").glob("GT_*/*.png"))[:3]:
        mask = np.asarray(Image.open(path).convert("L"))[160:300, 160:300] > 0
        ref = label(mask)[0]
        pred = brute.shifted(rng, ref)
        assert ref.any()
        found = instance_scores(pred, ref)
        values = [found.aji, found.aji_kumar, found.aji_greedy, found.aji_plus]
        assert values == pytest.approx([brute.aji(pred, ref, d) for d in DEFINITIONS])
        assert found.object_dice == pytest.approx(brute.object_dice(pred, ref))
        assert object_hausdorff(pred, ref) == pytest.approx(
            brute.object_hausdorff(pred, ref, (1, 1))
        )
