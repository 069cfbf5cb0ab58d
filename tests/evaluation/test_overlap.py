import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from medfed.evaluation import counts, dice, iou, precision, sensitivity, specificity

SCORES = (dice, iou, sensitivity, specificity, precision)
masks = array_shapes(min_dims=1, max_dims=3, max_side=5).flatmap(
    lambda shape: st.tuples(arrays(np.bool_, shape), arrays(np.bool_, shape))
)

PRED = np.array([[1, 1, 0, 0], [1, 0, 0, 0]])
REF = np.array([[1, 0, 0, 0], [1, 1, 0, 0]])


def test_counts_by_hand():
    # 2 pixels in both, 3 in each, 8 in all: 4 pixels are background in both
    assert dice(PRED, REF) == 4 / 6
    assert iou(PRED, REF) == 2 / 4
    assert sensitivity(PRED, REF) == 2 / 3
    assert precision(PRED, REF) == 2 / 3
    assert specificity(PRED, REF) == 4 / 5


def test_only_the_mask_is_looked_at():
    inside = np.array([[1, 1, 1, 0], [0, 0, 0, 0]])
    assert dice(PRED, REF, mask=inside) == 2 / 3
    assert specificity(PRED, REF, mask=inside) == 1 / 2
    assert math.isnan(dice(PRED, REF, mask=np.zeros_like(PRED)))


@pytest.mark.parametrize("score", [dice, iou, sensitivity, precision])
def test_both_empty_is_undefined_and_one_empty_is_nought(score):
    empty, full = np.zeros((3, 3)), np.ones((3, 3))
    assert math.isnan(score(empty, empty))
    assert score(empty, empty, both_empty=1) == 1
    assert score(empty, full) == 0
    assert score(full, empty) == 0


def test_specificity_follows_the_rule_on_the_background():
    empty, full = np.zeros((3, 3)), np.ones((3, 3))
    assert specificity(empty, empty) == 1
    assert math.isnan(specificity(full, full))
    assert specificity(full, empty) == 0


@pytest.mark.parametrize(
    "dtype", ["?", "u1", "i1", "u2", "i2", "i4", "u8", "i8", "f2", "f4", "f8", ">i2", ">f4"]
)
def test_foreground_is_what_is_not_zero(dtype):
    pred = (PRED * (1 if dtype == "?" else 100)).astype(dtype)
    assert dice(pred, REF) == 4 / 6
    assert dice(-pred if dtype in ("f4", "i8") else pred, REF) == 4 / 6


@given(masks)
def test_symmetry_complement_and_bounds(pair):
    pred, ref = pair
    np.testing.assert_equal(dice(pred, ref), dice(ref, pred))
    np.testing.assert_equal(iou(pred, ref), iou(ref, pred))
    np.testing.assert_equal(sensitivity(pred, ref), precision(ref, pred))
    np.testing.assert_equal(specificity(pred, ref), sensitivity(~pred, ~ref))
    for score in SCORES:
        value = score(pred, ref)
        assert math.isnan(value) or 0 <= value <= 1


@given(masks)
def test_dice_and_iou_name_the_same_thing(pair):
    d, j = dice(*pair), iou(*pair)
    assert (math.isnan(d) and math.isnan(j)) or j == pytest.approx(d / (2 - d))


@given(masks)
def test_identical_masks_are_perfect_and_an_added_error_never_helps(pair):
    pred, ref = pair
    if ref.any():
        assert [score(ref, ref) for score in (dice, iou, sensitivity, precision)] == [1] * 4
        wrong = np.argwhere(pred == ref)
        if len(wrong):
            worse = pred.copy()
            worse[tuple(wrong[0])] ^= True
            assert dice(worse, ref) <= dice(pred, ref)


def test_counts_add_up():
    found = counts(PRED, REF)
    assert (found.both, found.pred, found.ref, found.voxels) == (2, 3, 3, 8)
    assert found.background().both == 4
