"""Against the tools themselves, where they are installed."""

import brute_force as brute
import numpy as np
import pytest

from medfed.evaluation import average_surface_distance, dice, hausdorff, hd95, surface_dice
from medfed.evaluation.surface_elements import element_codes, element_sizes

pytestmark = pytest.mark.usefixtures("backend")


def cases(count, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        shape = (
            tuple(rng.integers(4, 16, 3)) if rng.random() < 0.5 else tuple(rng.integers(4, 40, 2))
        )
        spacing = tuple(float(s) for s in rng.choice([0.5, 1, 1.5, 3, 7], len(shape)))
        smooth = rng.random() * 2
        pred, ref = (
            brute.blobs(rng, shape, smooth, rng.random()),
            brute.blobs(rng, shape, smooth, rng.random()),
        )
        if pred.any() and ref.any():
            yield pred, ref, spacing


def real_cases(folder):
    """Tumour regions of six patients: the mask, and the same mask moved and worn."""
    import nibabel
    from scipy.ndimage import binary_erosion

    for path in sorted((folder / "brain" / "brats2013_deepmedic").rglob("*OTMultiClass*"))[:3]:
        image = nibabel.load(path)
        labels = np.asanyarray(image.dataobj)
        whole = labels > 0.5
        spacing = tuple(float(s) for s in image.header.get_zooms()[:3])
        yield np.roll(whole, (2, -1, 1), (0, 1, 2)), whole, spacing
        yield binary_erosion(whole) | (np.abs(labels - 4) < 0.5), whole, spacing


def check_deepmind(deepmind, pred, ref, spacing):
    found = deepmind.compute_surface_distances(ref, pred, spacing)
    for percentile in (50, 95, 100):
        assert hausdorff(
            pred, ref, spacing_mm=spacing, percentile=percentile, definition="deepmind"
        ) == pytest.approx(deepmind.compute_robust_hausdorff(found, percentile), abs=1e-6)
    to_pred, to_ref = deepmind.compute_average_surface_distance(found)
    for name, value in (("deepmind_ref2pred", to_pred), ("deepmind_pred2ref", to_ref)):
        assert average_surface_distance(
            pred, ref, spacing_mm=spacing, definition=name
        ) == pytest.approx(value)
    for tolerance in (0.6, 2.3):
        assert surface_dice(
            pred, ref, tolerance, spacing_mm=spacing, definition="deepmind"
        ) == pytest.approx(deepmind.compute_surface_dice_at_tolerance(found, tolerance))


@pytest.mark.filterwarnings("ignore")
def test_deepmind(deepmind):
    for case in cases(80):
        check_deepmind(deepmind, *case)


@pytest.mark.filterwarnings("ignore")
def test_element_sizes_are_those_of_deepmind(deepmind):
    from surface_distance import lookup_tables

    rng = np.random.default_rng(0)
    for _ in range(5):
        spacing = tuple(rng.uniform(0.3, 5, 3).tolist())
        np.testing.assert_allclose(
            element_sizes(spacing),
            lookup_tables.create_table_neighbour_code_to_surface_area(spacing),
        )
        np.testing.assert_allclose(
            element_sizes(spacing[:2]),
            lookup_tables.create_table_neighbour_code_to_contour_length(spacing[:2]),
        )


def test_element_sizes_by_hand():
    sizes = element_sizes((1.0, 2.0, 3.0))
    assert sizes[0] == sizes[255] == 0
    assert sizes[0b00001111] == pytest.approx(2 * 3)  # a face across the first axis
    assert sizes[0b00110011] == pytest.approx(1 * 3)
    assert sizes[0b01010101] == pytest.approx(1 * 2)
    # one corner: the triangle of the midpoints (.5 0 0) (0 1 0) (0 0 1.5)
    triangle = np.cross([-0.5, 1, 0], [-0.5, 0, 1.5])
    assert sizes[1] == pytest.approx(np.linalg.norm(triangle) / 2)
    np.testing.assert_allclose(sizes, sizes[::-1])  # the same from both sides
    assert element_codes(np.pad([[True]], 1)).tolist() == [[1, 2], [4, 8]]


def check_monai(pred, ref, spacing):
    torch = pytest.importorskip("torch")
    metrics = pytest.importorskip("monai.metrics")
    one, other = torch.tensor(pred)[None, None], torch.tensor(ref)[None, None]
    options = {"include_background": True, "spacing": list(spacing)}
    assert hd95(pred, ref, spacing_mm=spacing, definition="monai") == pytest.approx(
        float(metrics.compute_hausdorff_distance(one, other, percentile=95, **options)),
        rel=1e-5,
        abs=1e-5,
    )
    assert average_surface_distance(pred, ref, spacing_mm=spacing) == pytest.approx(
        float(metrics.compute_average_surface_distance(one, other, symmetric=True, **options)),
        rel=1e-5,
        abs=1e-5,
    )
    assert surface_dice(pred, ref, 1.2, spacing_mm=spacing) == pytest.approx(
        float(metrics.compute_surface_dice(one, other, [1.2], **options)), rel=1e-5
    )


@pytest.mark.filterwarnings("ignore")
def test_monai():
    pytest.importorskip("monai", reason="the train extra is not installed")
    for case in cases(30, seed=1):
        check_monai(*case)


@pytest.mark.filterwarnings("ignore")
def test_medpy():
    binary = pytest.importorskip("medpy.metric.binary")
    for pred, ref, spacing in cases(40, seed=2):
        assert hd95(pred, ref, spacing_mm=spacing, definition="medpy") == pytest.approx(
            binary.hd95(pred, ref, spacing)
        )
        assert hausdorff(pred, ref, spacing_mm=spacing) == pytest.approx(
            binary.hd(pred, ref, spacing)
        )
        assert average_surface_distance(
            pred, ref, spacing_mm=spacing, definition="medpy"
        ) == pytest.approx(binary.assd(pred, ref, spacing))
        assert average_surface_distance(
            pred, ref, spacing_mm=spacing, definition="pred2ref"
        ) == pytest.approx(binary.asd(pred, ref, spacing))
        assert dice(pred, ref) == pytest.approx(binary.dc(pred, ref))


@pytest.mark.filterwarnings("ignore")
def test_panoptica():
    metrics = pytest.importorskip("panoptica.metrics.hausdorff_distance")
    for pred, ref, spacing in cases(30, seed=3):
        assert hd95(pred, ref, spacing_mm=spacing, definition="panoptica") == pytest.approx(
            metrics._compute_instance_hausdorff_distance95(ref, pred, voxelspacing=spacing)
        )


@pytest.mark.filterwarnings("ignore")
def test_real_tumours_agree_with_deepmind_and_monai(data, deepmind):
    for pred, ref, spacing in real_cases(data):
        check_deepmind(deepmind, pred, ref, spacing)
        check_monai(pred, ref, spacing)
