import math

import brute_force as brute
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from medfed.evaluation import (
    average_surface_distance,
    hausdorff,
    hd95,
    surface_dice,
    surface_distances,
)

pytestmark = pytest.mark.usefixtures("backend")
quiet = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
shapes = st.one_of(
    st.tuples(st.integers(1, 7), st.integers(1, 7)), st.tuples(*[st.integers(1, 5)] * 3)
)
masks = shapes.flatmap(lambda s: st.tuples(arrays(np.bool_, s), arrays(np.bool_, s)))


def row(*places, length=12):
    mask = np.zeros((1, length), bool)
    mask[0, list(places)] = True
    return mask


def test_distances_by_hand():
    # reference 0 1 2, prediction 1 2 6: to the reference 0, 0, 4; to the prediction 1, 0, 0
    found = surface_distances(row(1, 2, 6), row(0, 1, 2), spacing_mm=(1, 0.5))
    assert sorted(found.pred_to_ref) == [0, 0, 2]
    assert sorted(found.ref_to_pred) == [0, 0, 0.5]
    assert found.outcome == "scored"


def test_percentiles_by_hand():
    pred, ref = row(1, 2, 6), row(0, 1, 2)
    assert hausdorff(pred, ref) == 4
    assert hausdorff(pred, ref, definition="pred2ref") == 4
    assert hausdorff(pred, ref, definition="ref2pred") == 1
    assert hd95(pred, ref) == pytest.approx(3.6)  # 0 0 4, rank 1.9
    assert hd95(pred, ref, definition="pooled") == pytest.approx(3.25)  # 0 0 0 0 1 4, rank 4.75
    assert hausdorff(pred, ref, percentile=50) == 0
    assert hausdorff(pred, ref, percentile=0) == 0


def test_means_by_hand():
    pred, ref = row(1, 2, 6), row(0, 1, 2)
    assert average_surface_distance(pred, ref) == pytest.approx(5 / 6)
    assert average_surface_distance(pred, ref, definition="medpy") == pytest.approx(5 / 6)
    assert average_surface_distance(pred, ref, definition="mean_of_means") == pytest.approx(5 / 6)
    assert average_surface_distance(pred, ref, definition="pred2ref") == pytest.approx(4 / 3)
    assert average_surface_distance(pred, ref, definition="ref2pred") == pytest.approx(1 / 3)
    assert average_surface_distance(pred, ref, definition="max") == pytest.approx(4 / 3)


def test_surface_dice_by_hand():
    pred, ref = row(1, 2, 6), row(0, 1, 2)
    assert surface_dice(pred, ref, 0) == 4 / 6
    assert (
        surface_dice(pred, ref, tolerance_mm=1) == 5 / 6
    )  # a distance equal to the tolerance is within
    assert surface_dice(pred, ref, 4) == 1


def test_the_inside_of_an_object_is_no_surface():
    block = np.ones((5, 5, 5), bool)
    assert (
        len(surface_distances(block, block).pred_to_ref) == 125 - 27
    )  # beyond the image is background
    assert len(surface_distances(np.pad(block, 1), np.pad(block, 1)).pred_to_ref) == 125 - 27


def test_a_distant_blob_decides_between_perfect_and_poor():
    """A square of 60 surface pixels and a blob of 4, the nearest one 16 and 24 pixels off a corner.

    The larger direction: 64 distances, 60 of them 0; rank 59.85 lies .85 of the way to the nearest.
    Pooled: 124 distances, 120 of them 0; rank 116.85 is 0.
    """
    ref = np.zeros((80, 80), bool)
    ref[10:26, 10:26] = True
    pred = ref.copy()
    pred[41:43, 49:51] = True
    assert hd95(pred, ref) == pytest.approx(0.85 * math.hypot(16, 24))
    assert hd95(pred, ref, definition="pooled") == 0
    assert hd95(pred, ref, definition="deepmind") == pytest.approx(28.60, abs=0.01)
    pred[41:45, 49:53] = True
    assert hd95(pred, ref, definition="pooled") > 27


def test_empty_sides_follow_the_absence_rule():
    full, empty = row(1), row()
    for distance in (hausdorff, hd95, average_surface_distance):
        assert distance(empty, full) == math.inf
        assert distance(full, empty) == math.inf
        assert math.isnan(distance(empty, empty))
    assert surface_dice(empty, full, 1) == 0
    assert math.isnan(surface_dice(empty, empty, 1))
    assert surface_dice(empty, empty, 1, both_empty=1) == 1
    assert surface_distances(full, empty).pred_to_ref.tolist() == [math.inf]
    assert surface_distances(full, empty).ref_to_pred.size == 0


def test_penalties_stand_for_empty_sides_on_request():
    full, empty = np.ones((240, 240, 155), np.uint8), np.zeros((240, 240, 155), np.uint8)
    assert hd95(empty, full[:, :, :], definition="brats2023") == 374
    assert hd95(empty, full, definition="brats2026") == pytest.approx(373.129, abs=1e-3)
    assert hd95(empty, full, empty=373.0) == 373
    assert hd95(empty, empty, definition="brats2023") == 0
    assert math.isnan(hd95(empty, full, definition="monai"))
    assert hd95(empty, full, definition="gandlf") == 0
    assert hd95(
        full[:3, :4], empty[:3, :4], empty="diagonal", spacing_mm=(1, 1, 0.001)
    ) == pytest.approx(5, abs=0.01)


@quiet
@given(masks, st.sampled_from([1.0, 0.5, 3.0, 7.25]), st.sampled_from([50, 95, 100]))
def test_agreement_with_brute_force(pair, stretch, percentile):
    pred, ref = pair
    if not (pred.any() and ref.any()):
        return
    spacing = (stretch, *(1.0,) * (pred.ndim - 1))
    for definition in ("max", "pooled"):
        assert hausdorff(
            pred, ref, percentile=percentile, spacing_mm=spacing, definition=definition
        ) == pytest.approx(brute.hausdorff(pred, ref, percentile, spacing, definition), abs=1e-9)


@quiet
@given(masks)
def test_symmetry_scale_and_identity(pair):
    pred, ref = pair
    np.testing.assert_equal(hd95(pred, ref), hd95(ref, pred))
    np.testing.assert_equal(
        average_surface_distance(pred, ref, definition="pred2ref"),
        average_surface_distance(ref, pred, definition="ref2pred"),
    )
    thrice = hausdorff(pred, ref, spacing_mm=(3,) * pred.ndim)
    np.testing.assert_allclose(thrice, 3 * hausdorff(pred, ref))
    if ref.any():
        assert hausdorff(ref, ref) == 0
        assert surface_dice(ref, ref, 0) == 1
        assert hd95(ref, ref, definition="deepmind") == 0


@quiet
@given(masks, st.integers(0, 3))
def test_translation_and_the_size_of_the_image_change_nothing(pair, by):
    pred, ref = (np.pad(m, [(by, 2)] * m.ndim) for m in pair)
    moved = [np.pad(m, [(2, by)] * m.ndim) for m in pair]
    for definition in ("max", "pooled", "deepmind"):
        np.testing.assert_allclose(
            hd95(pred, ref, definition=definition), hd95(*moved, definition=definition)
        )


@quiet
@given(masks)
def test_surface_dice_grows_with_tolerance(pair):
    values = [surface_dice(*pair, tolerance) for tolerance in (0, 1, 2, 100)]
    assert all(math.isnan(v) for v in values) or values == sorted(values)


def test_a_farther_error_never_helps():
    ref = np.zeros((40, 40), bool)
    ref[5:10, 5:10] = True
    far = []
    for place in range(12, 38, 5):
        pred = ref.copy()
        pred[place, place] = True
        far.append(hausdorff(pred, ref))
    assert far == sorted(far)
    assert far[0] > 0


@pytest.mark.parametrize("shape", [(300, 40), (6, 300, 7), (1, 1, 700), (30, 30, 30)])
def test_far_and_long_objects_are_exact(shape):
    """Beyond the reach of the near search, and beyond 254 steps along a row."""
    rng = np.random.default_rng(3)
    pred, ref = np.zeros(shape, bool), np.zeros(shape, bool)
    for mask, low in ((pred, 0), (ref, 1)):
        for _ in range(12):
            place = [rng.integers(0, max(1, n // 6)) + low * (n - max(1, n // 6)) for n in shape]
            mask[tuple(place)] = True
    ref[(0,) * ref.ndim] = rng.random() < 0.5
    for spacing in ((1.0,) * len(shape), tuple(rng.uniform(0.2, 9, len(shape)))):
        for definition in ("max", "pooled"):
            assert hausdorff(
                pred, ref, percentile=70, spacing_mm=spacing, definition=definition
            ) == pytest.approx(brute.hausdorff(pred, ref, 70, spacing, definition))


@pytest.mark.parametrize("smooth", [0, 1, 3])
def test_random_masks_from_ragged_to_round(smooth):
    from scipy.ndimage import distance_transform_edt

    rng = np.random.default_rng(smooth)
    for _ in range(8):
        shape = tuple(rng.integers(5, 40, rng.integers(2, 4)))
        spacing = tuple(rng.choice([0.4, 1, 1.7, 5], len(shape)))
        pred, ref = brute.blobs(rng, shape, smooth, 0.3), brute.blobs(rng, shape, smooth, 0.8)
        edges = [np.zeros(shape, bool) for _ in range(2)]
        for edge, mask in zip(edges, (pred, ref), strict=True):
            places = brute.surface(mask).astype(int)
            edge[tuple(places.T)] = True
        if not (edges[0].any() and edges[1].any()):
            continue
        found = surface_distances(pred, ref, spacing_mm=spacing)
        expected = distance_transform_edt(~edges[1], sampling=spacing)[edges[0]]
        np.testing.assert_allclose(np.sort(found.pred_to_ref), np.sort(expected), atol=1e-9)


def layouts(mask):
    yield np.asfortranarray(mask)
    yield mask[::-1, ::-1][::-1, ::-1]
    yield np.repeat(mask, 2, axis=-1)[..., ::2]
    yield np.ascontiguousarray(mask.transpose(range(mask.ndim)[::-1])).transpose(
        range(mask.ndim)[::-1]
    )
    yield np.ascontiguousarray(mask[::-1])[::-1]
    yield np.swapaxes(np.ascontiguousarray(np.swapaxes(mask, 0, 1)), 0, 1)


@pytest.mark.parametrize("shape", [(9, 14), (7, 9, 11)])
def test_memory_layout_changes_nothing(shape):
    rng = np.random.default_rng(1)
    pred, ref = brute.blobs(rng, shape, 1), brute.blobs(rng, shape, 1)
    spacing = (3.0, 1.0, 0.5)[: len(shape)]
    for dtype in (bool, np.int16, np.float32):
        for one in layouts(pred.astype(dtype)):
            for other in layouts(ref.astype(np.uint8)):
                for definition in ("max", "deepmind"):
                    assert hd95(
                        one, other, spacing_mm=spacing, definition=definition
                    ) == pytest.approx(hd95(pred, ref, spacing_mm=spacing, definition=definition))
