"""NIfTI: any orientation to RAS and back, scl_slope, and what is refused."""

import gzip

import nibabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nibabel.orientations import axcodes2ornt, inv_ornt_aff

from medfed.errors import BadFile
from medfed.transforms.nifti import check_same_grid, read_labels, read_volume

AXES = st.permutations(["RL", "AP", "SI"]).flatmap(
    lambda pairs: st.tuples(*(st.sampled_from(pair) for pair in pairs))
)


def affine_of(codes, shape, spacing=(1.0, 2.0, 3.0)):
    """The affine of an array whose axes run towards `codes`."""
    ornt = axcodes2ornt(codes)
    return np.diag([*spacing, 1.0]) @ np.linalg.inv(inv_ornt_aff(ornt, shape))


@settings(deadline=None, max_examples=48)
@given(codes=AXES)
def test_every_orientation_goes_to_ras_and_back(tmp_path_factory, codes):
    voxels = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32)
    affine = affine_of(codes, voxels.shape)
    path = tmp_path_factory.mktemp("n") / "x.nii.gz"
    nibabel.save(nibabel.Nifti1Image(voxels, affine), path)
    volume = read_volume(path)
    canonical = nibabel.as_closest_canonical(nibabel.load(path))
    assert volume.codes == "".join(codes)
    assert np.array_equal(volume.voxels, canonical.get_fdata(dtype=np.float32))
    assert np.allclose(volume.affine, canonical.affine)
    assert np.array_equal(volume.to_source(volume.voxels), voxels)


def test_slope_and_intercept_are_applied(save_nifti):
    path = save_nifti(np.arange(24, dtype=np.float32).reshape(2, 3, 4) * 0.5 - 3, name="a.nii")
    image = nibabel.load(path)
    scaled = nibabel.Nifti1Image(image.get_fdata(), np.eye(4), dtype=np.int16)
    nibabel.save(scaled, path)
    assert np.allclose(read_volume(path).voxels, nibabel.load(path).get_fdata(), atol=1e-4)
    assert nibabel.load(path).dataobj.slope != 1


def test_a_mask_that_reads_as_almost_one_is_one(save_nifti):
    voxels = np.zeros((4, 4, 4), np.float32)
    voxels[1:3, 1:3, 1:3] = 0.99999997
    voxels[0] = 2.0000002
    labels = read_labels(save_nifti(voxels)).voxels
    assert labels.dtype == np.int16
    assert (labels == 1).sum() == 8
    assert (labels == 2).sum() == 16


@pytest.mark.parametrize("value", [0.5, -1.0, 40_000.0])
def test_values_that_are_no_labels(save_nifti, value):
    voxels = np.zeros((3, 3, 3), np.float32)
    voxels[1, 1, 1] = value
    with pytest.raises(BadFile, match=r"no label|labels reach"):
        read_labels(save_nifti(voxels))


def sheared():
    affine = np.eye(4)
    affine[0, 1] = 0.2
    return affine


@pytest.mark.parametrize(
    ("voxels", "affine", "says"),
    [
        (np.zeros((3, 3, 3), np.float32), sheared(), "right angles"),
        (np.zeros((3, 3, 3, 2), np.float32), np.eye(4), "3D volumes"),
        (np.zeros((3, 3), np.float32), np.eye(4), "3D volumes"),
        (np.full((3, 3, 3), np.nan, np.float32), np.eye(4), "NaN"),
    ],
)
def test_what_is_refused(save_nifti, voxels, affine, says):
    with pytest.raises(BadFile, match=says):
        read_volume(save_nifti(voxels, affine))


def test_an_oblique_grid_with_right_angles_is_read(save_nifti):
    turn = np.eye(4)
    turn[:2, :2] = [[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]]
    volume = read_volume(save_nifti(np.zeros((3, 3, 3), np.float32), turn))
    assert np.allclose(volume.spacing_mm, 1)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda data: data[: len(data) // 2], "cannot be read"),
        (lambda data: b"", "0 bytes"),
        (lambda data: b"\x1f\x8b" + b"junk" * 20, "cannot be read"),
        (lambda data: gzip.compress(gzip.decompress(data)[:500]), "ends after"),
        (lambda data: gzip.compress(b"\0" * 400), "no NIfTI header"),
        (lambda data: data[:-6] + bytes(2) + data[-4:], "cannot be read"),
    ],
)
def test_a_damaged_file_is_named(save_nifti, make, says):
    path = save_nifti(np.random.default_rng(0).normal(size=(9, 9, 9)).astype(np.float32))
    path.write_bytes(make(path.read_bytes()))
    with pytest.raises(BadFile, match=says) as caught:
        read_volume(path)
    assert path.name not in caught.value.upstream


def test_a_header_that_claims_too_much_is_refused_before_it_is_inflated(save_nifti):
    path = save_nifti(np.zeros((3, 3, 3), np.float32))
    data = bytearray(gzip.decompress(path.read_bytes()))
    data[42:48] = np.array([30_000, 30_000, 30_000], "<i2").tobytes()
    path.write_bytes(gzip.compress(bytes(data)))
    with pytest.raises(BadFile, match="claims"):
        read_volume(path)


def test_a_mask_on_another_grid_is_refused_beyond_the_tolerance(save_nifti):
    voxels = np.zeros((5, 6, 7), np.float32)
    image = read_volume(save_nifti(voxels, name="a.nii.gz"))
    near, far = np.eye(4), np.eye(4)
    near[0, 3], far[0, 3] = 0.04, 0.06
    check_same_grid(image, read_volume(save_nifti(voxels, near, "b.nii.gz")), names=("a", "b"))
    with pytest.raises(BadFile, match=r"0\.06 mm off a; 0\.05 mm are allowed"):
        check_same_grid(image, read_volume(save_nifti(voxels, far, "c.nii.gz")), names=("a", "c"))
    with pytest.raises(BadFile, match="belong to different images"):
        check_same_grid(
            image, read_volume(save_nifti(voxels[1:], name="d.nii.gz")), names=("a", "d")
        )


def test_a_mask_in_another_orientation_of_the_same_grid_fits(save_nifti):
    voxels = np.random.default_rng(0).integers(0, 3, (4, 5, 6)).astype(np.int16)
    image = read_volume(save_nifti(voxels, name="a.nii.gz"))
    flipped = np.diag([-1.0, 1, 1, 1])
    flipped[0, 3] = 3
    mask = read_labels(save_nifti(voxels[::-1], flipped, "b.nii.gz"))
    check_same_grid(image, mask, names=("a", "b"))
    assert np.array_equal(mask.voxels, voxels)


def test_the_real_brain_mask_of_almost_ones(real_data):
    path = real_data / "brain/brats2013_deepmedic/brats_2013_pat0001_1/brainmask.nii.gz"
    theirs = nibabel.load(path).get_fdata()
    assert (theirs == 1).sum() == 0
    labels = read_labels(path)
    assert np.array_equal(labels.to_source(labels.voxels) == 1, theirs > 0.5)


def test_real_volumes_read_as_nibabel_reads_them(real_data):
    for path in [
        "brain/ms_lesions/patient07/FLAIR.nii.gz",
        "brain/brats2013_deepmedic/brats_2013_pat0002_1/T1c_subtrMeanDivStd.nii.gz",
        "brain/brats_gli/BraTS-GLI-00001-000/BraTS-GLI-00001-000-t1c.nii.gz",
    ]:
        canonical = nibabel.as_closest_canonical(nibabel.load(real_data / path))
        assert np.allclose(
            read_volume(real_data / path).voxels, canonical.get_fdata(), rtol=1e-5, atol=1e-5
        )
