"""Grids that are the same in another order are mended; others are refused, or resampled when asked."""

from itertools import permutations, product

import numpy as np
import pytest

from medfed.errors import BadFile
from medfed.evaluation.folders.geometry import on_one_grid
from medfed.evaluation.mask_files import Mask

AFFINE = np.array([[-0.5, 0, 0, 10], [0, 0.6, 0, -3], [0, 0, 3, 7], [0, 0, 0, 1.0]])
SPACING = (0.5, 0.6, 3.0)


def mask(array, affine=AFFINE, **more):
    spacing = tuple(np.linalg.norm(affine[:3, :3], axis=0)) if affine is not None else None
    return Mask(array, spacing, affine, **more)


def moved(array, order, flips):
    """The same mask stored with other axes."""
    turned, affine = array.transpose(order), AFFINE.copy()
    affine[:, :3] = affine[:, list(order)]
    for axis, flip in enumerate(flips):
        if flip:
            turned = np.flip(turned, axis)
            affine[:, 3] += affine[:, axis] * (turned.shape[axis] - 1)
            affine[:, axis] *= -1
    return mask(turned, affine)


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("flips", list(product((False, True), repeat=3)))
def test_all_48_orders_of_axes_are_mended(labels, order, flips):
    grid = on_one_grid(moved(labels, order, flips), mask(labels))
    assert np.array_equal(grid.pred, labels)
    assert np.allclose(grid.spacing_mm, SPACING)
    same = order == (0, 1, 2) and not any(flips)
    assert bool(grid.warnings) is not same


def test_the_reference_decides_the_grid(labels):
    turned = moved(labels, (2, 0, 1), (True, False, False))
    grid = on_one_grid(mask(labels), turned)
    assert np.array_equal(grid.ref, turned.array)
    assert np.array_equal(grid.pred, turned.array)


def test_rounding_in_headers_is_no_difference(labels):
    near = AFFINE + np.random.default_rng(0).uniform(-1e-4, 1e-4, (4, 4)) * (AFFINE != 0)
    near[3] = (0, 0, 0, 1)
    assert on_one_grid(mask(labels, near), mask(labels)).warnings == ()


@pytest.mark.parametrize("change", ["shift", "scale", "turn", "shape"])
def test_another_grid_is_refused(labels, change):
    affine, array = AFFINE.copy(), labels
    if change == "shift":
        affine[0, 3] += 0.3
    elif change == "scale":
        affine[0, 0] *= 1.1
    elif change == "turn":
        angle = 0.1
        affine[:2, :2] = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    else:
        array = np.pad(labels, ((0, 1), (0, 0), (0, 0)))
    with pytest.raises(BadFile, match="--resample"):
        on_one_grid(mask(array, affine), mask(labels))


def test_resampling_by_nearest_neighbour_when_asked():
    coarse = np.zeros((4, 4, 4), np.uint8)
    coarse[1:3, 1:3, 1:3] = 3
    fine = np.zeros((8, 8, 8), np.uint8)
    fine[2:6, 2:6, 2:6] = 3
    affine = np.diag([2.0, 2, 2, 1])
    affine[:3, 3] = 0.5  # both grids fill the same box
    grid = on_one_grid(mask(coarse, affine), mask(fine, np.eye(4)), resample=True)
    assert np.array_equal(grid.pred, fine)
    assert "resampled" in grid.warnings[0]


def test_pictures_compare_shapes_and_say_when_transposed():
    with pytest.raises(BadFile, match="transposed"):
        on_one_grid(Mask(np.zeros((4, 6))), Mask(np.zeros((6, 4))))
    assert on_one_grid(Mask(np.zeros((4, 6))), Mask(np.zeros((4, 6)))).spacing_mm is None


def test_one_side_without_orientation_warns(labels):
    grid = on_one_grid(Mask(labels), mask(labels))
    assert grid.spacing_mm == pytest.approx(SPACING)
    assert "no orientation" in grid.warnings[0]


def test_spacing_without_affine_must_agree(labels):
    with pytest.raises(BadFile, match="spacing"):
        on_one_grid(Mask(labels, (1.0, 1, 2)), Mask(labels, (1.0, 1, 1)))


def test_spacing_given_is_used_where_files_have_none():
    array = np.zeros((4, 6))
    assert on_one_grid(Mask(array), Mask(array), spacing_mm=(0.25, 0.25)).spacing_mm == (0.25, 0.25)


def test_one_slice_is_an_image(labels):
    one = mask(labels[:, :, 1:2])
    grid = on_one_grid(one, one)
    assert grid.ref.ndim == 2
    assert grid.spacing_mm == pytest.approx(SPACING[:2])


def test_stored_slices_are_padded_to_a_whole_volume(labels):
    part = labels[:, :, 1:4]
    affine = AFFINE.copy()
    affine[:3, 3] += AFFINE[:3, 2]
    inside = mask(part, affine, sparse=True)
    whole = labels.copy()
    whole[:, :, [0, 4]] = 0
    grid = on_one_grid(inside, mask(whole))
    assert np.array_equal(grid.pred, whole)
    grid = on_one_grid(mask(whole), inside)
    assert grid.ref.shape == whole.shape
    assert np.array_equal(grid.pred, grid.ref)


def test_two_files_of_stored_slices_meet_in_the_box_of_both(labels):
    first = mask(labels[:, :, :2], sparse=True)
    affine = AFFINE.copy()
    affine[:3, 3] += AFFINE[:3, 2]
    second = mask(labels[:, :, 1:4], affine, sparse=True)
    grid = on_one_grid(first, second)
    assert grid.pred.shape == grid.ref.shape == (7, 6, 4)
    assert np.array_equal(grid.pred[:, :, :2], labels[:, :, :2])
    assert np.array_equal(grid.ref[:, :, 1:], labels[:, :, 1:4])
