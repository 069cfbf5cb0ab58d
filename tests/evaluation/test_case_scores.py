import math

import brute_force as brute
import numpy as np
import pytest

from medfed import evaluation as ev

pytestmark = pytest.mark.usefixtures("backend")


def label_pair(shape=(12, 14, 9), seed=0):
    rng = np.random.default_rng(seed)
    pred, ref = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    for label in (1, 2, 4):
        ref[brute.blobs(rng, shape, 1.5, 0.8)] = label
        pred[brute.blobs(rng, shape, 1.5, 0.8)] = label
    return pred, ref


def test_one_pass_gives_what_the_single_functions_give():
    pred, ref = label_pair()
    spacing = (1.0, 2.0, 0.5)
    found = ev.score_case(
        pred, ref, regions={"whole": (1, 2, 4), "core": [1, 4]}, labels=[2], spacing_mm=spacing
    )
    assert list(found) == ["2", "whole", "core"]
    for name, members in (("2", [2]), ("whole", [1, 2, 4]), ("core", [1, 4])):
        one, other = np.isin(pred, members), np.isin(ref, members)
        scores = found[name]
        for score in (ev.dice, ev.iou, ev.sensitivity, ev.specificity, ev.precision):
            assert getattr(scores, score.__name__) == pytest.approx(score(one, other))
        assert scores.hd95 == pytest.approx(ev.hd95(one, other, spacing_mm=spacing))
        assert scores.hd95_pooled == pytest.approx(
            ev.hd95(one, other, spacing_mm=spacing, definition="pooled")
        )
        assert scores.hausdorff == pytest.approx(ev.hausdorff(one, other, spacing_mm=spacing))
        assert scores.average_surface_distance == pytest.approx(
            ev.average_surface_distance(one, other, spacing_mm=spacing)
        )
        assert scores.surface_dice == pytest.approx(
            ev.surface_dice(one, other, 1.0, spacing_mm=spacing)
        )
        assert (scores.pred, scores.ref, scores.voxels) == (one.sum(), other.sum(), one.size)
        assert scores.as_dict() == ev.score_mask(one, other, spacing_mm=spacing).as_dict()


def test_labels_of_either_map_are_scored_unless_named():
    pred, ref = label_pair()
    pred[pred == 4] = 9
    assert list(ev.score_case(pred, ref)) == ["1", "2", "4", "9"]
    found = ev.score_case(pred, ref)
    assert (found["4"].outcome, found["9"].outcome) == ("missed", "invented")
    assert (found["4"].dice, found["4"].hd95) == (0, math.inf)


def test_a_label_that_is_nowhere_is_named():
    pred, ref = label_pair()
    found = ev.score_case(pred, ref, labels=[1, 3, 70_000])
    assert found["3"].outcome == found["70000"].outcome == "both_empty"
    assert math.isnan(found["3"].dice)
    assert math.isnan(found["3"].hd95)
    nothing = ev.score_case(0 * pred, 0 * ref, labels=[1])
    assert nothing["1"].outcome == "both_empty"
    assert nothing["1"].specificity == 1
    assert ev.score_case(0 * pred, 0 * ref) == {}


@pytest.mark.parametrize("dtype", ["i2", "u4", "f4", "f8", ">i4"])
def test_types_layouts_and_large_labels(dtype):
    pred, ref = label_pair()
    expected = ev.score_case(pred, ref, spacing_mm=(1, 2, 3))
    other = ev.score_case(
        np.asfortranarray(pred.astype(dtype)), np.asfortranarray(ref), spacing_mm=(1, 2, 3)
    )
    for name, scores in expected.items():
        wanted = scores.as_dict()
        assert other[name].outcome == wanted.pop("outcome")
        assert {key: getattr(other[name], key) for key in wanted} == pytest.approx(wanted)
    if dtype != "i2":
        scale = 100_000
        large = ev.score_case(
            pred.astype(dtype) * scale, ref.astype(dtype) * scale, spacing_mm=(1, 2, 3)
        )
        assert large["400000"].hd95 == expected["4"].hd95


def test_every_score_carries_its_definition():
    scores = ev.score_mask([[1, 0]], [[1, 1]]).as_dict()
    named = set(scores) - {"outcome", "both", "pred", "ref", "voxels", "voxel_size", "tolerance_mm"}
    assert named == set(ev.DEFINITIONS)
