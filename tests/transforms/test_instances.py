"""Instances to three classes and back, tiles and stitching, stain and intensity: laws and references."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from medfed.transforms.instances import (
    CONTOUR,
    INSIDE,
    consecutive,
    instances_from_ternary,
    separated,
    ternary_map,
    weight_map,
)
from medfed.transforms.intensity import foreground, percentile_map, z_score_map
from medfed.transforms.stain import macenko, macenko_reference, reinhard, reinhard_reference
from medfed.transforms.tiles import TilePlan


def discs(seed, count=14, edge=80):
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[:edge, :edge]
    instances = np.zeros((edge, edge), np.int32)
    for number in range(1, count + 1):
        row, column, radius = rng.uniform(0, edge), rng.uniform(0, edge), rng.uniform(5, 9)
        inside = (rows - row) ** 2 + (columns - column) ** 2 < radius**2
        if not instances[ndimage.binary_dilation(inside, iterations=rng.integers(0, 3))].any():
            instances[inside] = number * 7  # numbers with gaps
    return instances


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000))
def test_three_classes_give_the_nuclei_back(seed):
    instances = separated(discs(seed))
    seeds = ndimage.label(ternary_map(instances) == INSIDE)[1]
    back = instances_from_ternary(ternary_map(instances), smallest_px=1)
    assert back.max() == seeds
    for number in range(1, instances.max() + 1):
        mine = instances == number
        if ternary_map(instances)[mine].min() == INSIDE:  # has an inside
            theirs = back == np.bincount(back[mine]).argmax()
            assert (mine & theirs).sum() / (mine | theirs).sum() > 0.7


def test_touching_nuclei_keep_a_contour_between_them():
    instances = np.zeros((10, 12), np.int32)
    instances[2:8, 1:6], instances[2:8, 6:11] = 1, 2
    ternary = ternary_map(instances)
    assert (ternary[3:7, 5:7] == CONTOUR).all()
    assert ndimage.label(ternary == INSIDE)[1] == 2
    assert instances_from_ternary(ternary, smallest_px=1).max() == 2


def test_the_contour_is_dilation_minus_erosion():
    instances = np.zeros((12, 12), np.int32)
    instances[3:9, 3:9] = 4
    cross = ndimage.generate_binary_structure(2, 1)
    ring = ndimage.binary_dilation(instances > 0, cross) & ~ndimage.binary_erosion(
        instances > 0, cross
    )
    assert np.array_equal(ternary_map(instances) == CONTOUR, ring)


def test_small_insides_are_noise():
    instances = np.zeros((20, 20), np.int32)
    instances[2:12, 2:12], instances[15:18, 15:18] = 1, 2
    assert instances_from_ternary(ternary_map(instances), smallest_px=20).max() == 1


def test_weights_by_the_formula_pixel_by_pixel():
    instances = discs(3)
    numbers = np.unique(instances)[1:]
    distances = np.sort([ndimage.distance_transform_edt(instances != n) for n in numbers], axis=0)
    formula = 1 + 10 * np.exp(-((distances[0] + distances[1]) ** 2) / 50) * (instances == 0)
    assert np.allclose(weight_map(instances), formula, atol=0.01)


def test_pieces_that_share_a_number_are_told_apart():
    instances = np.array([[5, 0, 5], [0, 0, 0], [5, 5, 0]])
    assert separated(instances).max() == 3
    assert consecutive(instances).max() == 1


SHAPES = st.tuples(st.integers(1, 70), st.integers(1, 70))


@settings(deadline=None, max_examples=60)
@given(SHAPES, st.integers(1, 40), st.floats(0, 0.9), st.sampled_from(["blend", "centre"]))
def test_cutting_and_stitching_is_the_identity(shape, size, share, seam):
    plan = TilePlan(shape, size, int(share * size) if size > 1 else 0)
    image = np.random.default_rng(0).random((2, *shape)).astype(np.float32)
    tiles = plan.cut(image)
    assert tiles.shape == (len(plan.origins), 2, size, size)
    assert np.allclose(plan.stitch(tiles, seam=seam), image, atol=1e-6)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 300), st.integers(2, 64), st.integers(0, 63))
def test_tiles_cover_the_image_and_overlap_enough(length, size, overlap):
    overlap = min(overlap, size - 1)
    starts = sorted({row for row, _ in TilePlan((length, 1), size, overlap).origins})
    assert starts[0] == 0
    assert starts[-1] + size >= length
    assert all(b - a <= size - overlap for a, b in pairwise(starts))


def test_class_numbers_keep_their_type_and_a_plan_its_image():
    plan = TilePlan((9, 9), 4, 2)
    labels = np.random.default_rng(0).integers(0, 3, (9, 9)).astype(np.uint8)
    stitched = plan.stitch(plan.cut(labels), seam="centre")
    assert stitched.dtype == np.uint8
    assert np.array_equal(stitched, labels)
    with pytest.raises(ValueError, match="the plan is for"):
        plan.cut(labels[1:])
    with pytest.raises(ValueError, match="overlap"):
        TilePlan((9, 9), 4, 4)


def test_a_seam_between_two_answers_is_a_ramp():
    plan = TilePlan((8, 12), 8, 4)
    tiles = np.zeros((2, 8, 8), np.float32)
    tiles[1] = 1
    row = plan.stitch(tiles)[4]
    assert row[0] == 0
    assert row[-1] == 1
    assert (np.diff(row) >= 0).all()
    assert np.diff(row).max() < 0.35


def test_the_foreground_has_no_value_of_the_border():
    image = np.full((6, 6), -1.5, np.float32)
    image[2:4, 2:4] = [[0, 1], [2, 3]]
    inside = foreground(image)
    assert inside.sum() == 4
    z = z_score_map(image, inside).apply(image)[inside]
    assert abs(z.mean()) < 1e-6
    assert abs(z.std() - 1) < 1e-6
    p = percentile_map(image, inside, lower=0, upper=100).apply(image)[inside]
    assert p.min() == 0
    assert p.max() == 1


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 999), st.floats(-50, 50), st.floats(0.1, 50))
def test_a_normalisation_can_be_undone_and_forgets_the_scanners_scale(seed, shift, scale):
    image = np.random.default_rng(seed).normal(size=(5, 6)).astype(np.float32)
    inside = np.ones(image.shape, bool)
    moved = (image * scale + shift).astype(np.float32)
    one = z_score_map(moved, inside)
    assert np.allclose(one.undo(one.apply(moved)), moved, atol=1e-3)
    assert np.allclose(one.apply(moved), z_score_map(image, inside).apply(image), atol=1e-2)


def test_a_constant_image_stays_finite():
    image = np.full((4, 4), 7, np.float32)
    assert np.isfinite(z_score_map(image, foreground(image)).apply(image)).all()


def stained(seed, haematoxylin, eosin, edge=64):
    rng = np.random.default_rng(seed)
    amounts = ndimage.gaussian_filter(rng.random((2, edge, edge)), [0, 3, 3])
    amounts = (amounts - amounts.min()) / (amounts.max() - amounts.min()) * 1.4
    density = np.einsum("cs,shw->chw", np.column_stack([haematoxylin, eosin]), amounts)
    return np.clip(240 * np.exp(-density) / 255, 0, 1).astype(np.float32)


H, E = np.array([0.65, 0.70, 0.29]), np.array([0.21, 0.87, 0.44])


def test_macenko_finds_the_stains_that_were_put_in():
    found = macenko_reference(stained(0, H, E))
    assert np.dot(found.haematoxylin, H / np.linalg.norm(H)) > 0.97
    assert np.dot(found.eosin, E / np.linalg.norm(E)) > 0.97


def test_macenko_agrees_with_monai():
    pathology = pytest.importorskip("monai.apps.pathology")
    image = stained(1, H, E)
    theirs = pathology.ExtractHEStains(tli=240, alpha=1, beta=0.15)(
        (image * 255).transpose(1, 2, 0)
    )
    mine = macenko_reference(image)
    # MONAI puts the stain that absorbs less red first; haematoxylin is the one that absorbs more.
    for ours, column in ((mine.haematoxylin, 1), (mine.eosin, 0)):
        other = theirs[:, column] / np.linalg.norm(theirs[:, column])
        assert np.dot(ours, other) > 0.995


@pytest.mark.parametrize(
    ("reference", "normalise"), [(reinhard_reference, reinhard), (macenko_reference, macenko)]
)
def test_a_normalised_image_has_the_references_numbers(reference, normalise):
    wanted = reference(stained(2, H, E))
    other = stained(3, H[[0, 2, 1]] * 0.8, E * 1.1)
    result = normalise(other, wanted)
    assert result.dtype == np.float32
    assert result.min() >= 0
    assert result.max() <= 1
    before, after = reference(other), reference(result)

    def distance(a, b):
        return sum(
            float(np.abs(np.subtract(getattr(a, n), getattr(b, n))).sum()) for n in a.__slots__
        )

    assert distance(after, wanted) < 0.35 * distance(before, wanted)


def test_a_tile_of_bare_glass_is_refused_by_macenko():
    with pytest.raises(ValueError, match="no tissue"):
        macenko_reference(np.full((3, 20, 20), 0.95, np.float32))


def test_real_tiles_take_on_the_reference(real_data):
    from medfed.transforms import read_image

    folder = real_data / "nuclei"
    reference = reinhard_reference(read_image(folder / "kumar/Images/test_01.png"))
    tile = read_image(folder / "tnbc/Slide_01/01_1.png")
    after = reinhard_reference(reinhard(tile, reference))
    assert np.allclose(after.mean, reference.mean, atol=4)
