import math

import numpy as np
import pytest

from medfed import evaluation as ev
from medfed.errors import DataError, MedfedError

BINARY = (ev.dice, ev.iou, ev.sensitivity, ev.specificity, ev.precision, ev.hausdorff, ev.hd95,
          ev.surface_distances, ev.average_surface_distance)  # fmt: skip
INSTANCE = (ev.aji, ev.aji_plus, ev.panoptic_quality, ev.object_dice, ev.object_hausdorff,
            ev.matched_object_scores, ev.instance_scores)  # fmt: skip
RANKED = (ev.auroc, ev.auprc, ev.sensitivity_at_specificity, ev.brier, ev.calibration_error)


def test_the_error_is_a_value_error_and_medfeds_own():
    assert issubclass(ev.InputError, ValueError)
    assert issubclass(ev.InputError, DataError)
    with pytest.raises(MedfedError) as caught:
        ev.dice([1], [1, 0])
    assert "(1,)" in caught.value.local
    assert "1" not in caught.value.upstream


@pytest.mark.parametrize("score", [*BINARY, *INSTANCE])
def test_shapes_are_never_broadcast(score):
    one = np.ones((4, 4), int)
    for other in (np.ones((1, 4), int), np.ones((4, 4, 1), int), np.ones(4, int)):
        with pytest.raises(ValueError, match="differ in shape"):
            score(one, other)


@pytest.mark.parametrize(
    "spacing", [(1,), (1, 1, 1), (0, 1), (-1, 1), (math.nan, 1), (math.inf, 1), 1.0, "ab", [[1, 1]]]
)
def test_spacing_is_one_positive_number_an_axis(spacing):
    mask = np.ones((4, 4), int)
    for score in (
        ev.hd95,
        ev.surface_distances,
        ev.average_surface_distance,
        ev.object_hausdorff,
        ev.score_case,
    ):
        with pytest.raises(ValueError, match="spacing_mm"):
            score(mask, mask, spacing_mm=spacing)


@pytest.mark.parametrize("score", INSTANCE)
@pytest.mark.parametrize("bad", [-1, 0.5, math.nan, math.inf, 1e17])
def test_ids_are_whole_numbers_from_nought(score, bad):
    good = np.ones((3, 3))
    wrong = good.copy()
    wrong[0, 0] = bad
    for pair in ((wrong, good), (good, wrong)):
        with pytest.raises(ValueError, match=r"prediction|reference"):
            score(*pair)


@pytest.mark.parametrize("score", BINARY)
def test_masks_are_numbers(score):
    with pytest.raises(ValueError, match="nan"):
        score(np.array([[math.nan, 1.0]]), np.array([[0.0, 1.0]]))
    with pytest.raises(ValueError, match="type"):
        score(np.array([["a", "b"]]), np.array([["a", "b"]]))


@pytest.mark.parametrize("score", RANKED)
def test_scores_of_labelled_cases_are_finite(score):
    for bad in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match="labelled"):
            score([0.5, bad], [0, 1])
    with pytest.raises(ValueError, match="targets"):
        score([0.5, 0.1], [0, 2])
    with pytest.raises(ValueError, match="differ in shape"):
        score([0.5, 0.1], [[0, 1]])
    with pytest.raises(ValueError, match="uncertain"):
        score([0.5, 0.1], [0, 1], uncertain="maybe")


@pytest.mark.parametrize("score", [ev.brier, ev.calibration_error])
def test_logits_are_not_taken_for_probabilities(score):
    with pytest.raises(ValueError, match="sigmoid"):
        score([2.5, -1.0], [1, 0])


@pytest.mark.parametrize(
    "call",
    [
        lambda m: ev.hd95(m, m, definition="median"),
        lambda m: ev.hausdorff(m, m, percentile=101),
        lambda m: ev.hausdorff(m, m, percentile=math.nan),
        lambda m: ev.average_surface_distance(m, m, definition="pooled95"),
        lambda m: ev.surface_dice(m, m, -1),
        lambda m: ev.surface_dice(m, m, math.nan),
        lambda m: ev.surface_distances(m, m, definition="voxel"),
        lambda m: ev.aji(m, m, definition="best"),
        lambda m: ev.panoptic_quality(m, m, iou_threshold=1),
        lambda m: ev.object_dice(m, m, match="area"),
        lambda m: ev.object_hausdorff(m, m, points="all"),
        lambda m: ev.matched_object_scores(m, m, definition="kumar"),
        lambda m: ev.score_case(m, m, regions={"none": ()}),
        lambda m: ev.score_case(m, m, labels=[0]),
        lambda m: ev.score_case(m, m, labels=[1], regions={"1": (1,)}),
        lambda m: ev.hd95(m[None, None], m[None, None]),
        lambda m: ev.hd95(0 * m, m, empty="width"),
        lambda m: ev.preset("unknown"),
        lambda m: ev.bootstrap_interval(m),
        lambda m: ev.bootstrap_interval([1.0], n=0),
        lambda m: ev.bootstrap_interval([1.0], alpha=1),
        lambda m: ev.bootstrap_interval([1.0, 2.0], groups=[1]),
        lambda m: ev.summarise(m),
        lambda m: ev.roc_curve([[0.1, 0.2]], [[0, 1]]),
        lambda m: ev.calibration_error([0.1], [1], bins=0),
        lambda m: ev.sensitivity_at_specificity([0.1], [1], specificity=2),
    ],
)
def test_unknown_options_are_refused(call):
    with pytest.raises(ev.InputError):
        call(np.ones((2, 2), int))


def test_an_unknown_backend_is_refused(monkeypatch):
    monkeypatch.setenv("MEDFED_EVALUATION_BACKEND", "cuda")
    with pytest.raises(ev.InputError, match="numba, numpy"):
        ev.hd95([[1]], [[1]])
