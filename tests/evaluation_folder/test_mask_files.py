"""Each format gives back the labels that were written, and refuses what is no label map."""

import gzip

import nibabel as nib
import numpy as np
import pytest
from mask_writers import save_nifti, save_png
from PIL import Image
from scipy.io import savemat

from medfed.errors import BadFile
from medfed.evaluation.mask_files import ReadOptions, content_digest, read_mask

AFFINE = np.array([[-0.5, 0, 0, 10], [0, 0.5, 0, -3], [0, 0, 3, 7], [0, 0, 0, 1.0]])


@pytest.mark.parametrize("ending", [".nii", ".nii.gz"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64, ">i2"])
def test_nifti_labels_and_affine(tmp_path, labels, ending, dtype):
    path = save_nifti(tmp_path / f"a{ending}", labels.astype(dtype), AFFINE)
    mask = read_mask(path)
    assert np.array_equal(mask.array, labels)
    assert mask.array.dtype == np.uint8
    assert mask.spacing_mm == (0.5, 0.5, 3.0)
    assert np.allclose(mask.affine, AFFINE)


def test_nifti_2_and_a_last_axis_of_one(tmp_path, labels):
    nib.save(nib.Nifti2Image(labels[..., None], AFFINE), tmp_path / "a.nii.gz")
    assert np.array_equal(read_mask(tmp_path / "a.nii.gz").array, labels)


def test_nifti_scaled_to_almost_whole_numbers_is_rounded(tmp_path, labels):
    image = nib.Nifti1Image(labels.astype(np.int16) * 1000, AFFINE)
    image.header.set_slope_inter(0.001 - 1e-11, 0)
    nib.save(image, tmp_path / "a.nii")
    mask = read_mask(tmp_path / "a.nii")
    assert np.array_equal(mask.array, labels)
    assert "scaled" in mask.notes[0]


def test_nifti_in_microns_is_read_in_millimetres(tmp_path, labels):
    image = nib.Nifti1Image(labels, np.diag([500.0, 500, 3000, 1]))
    image.header.set_xyzt_units("micron")
    nib.save(image, tmp_path / "a.nii")
    assert read_mask(tmp_path / "a.nii").spacing_mm == (0.5, 0.5, 3.0)


def test_nifti_without_orientation_has_spacing_alone(tmp_path, labels):
    image = nib.Nifti1Image(labels, None)
    image.header.set_zooms((0.5, 0.5, 3))
    nib.save(image, tmp_path / "a.nii")
    mask = read_mask(tmp_path / "a.nii")
    assert mask.affine is None
    assert mask.spacing_mm == (0.5, 0.5, 3.0)


def test_several_gzip_members_are_one_file(tmp_path, labels):
    save_nifti(tmp_path / "a.nii", labels)
    raw = (tmp_path / "a.nii").read_bytes()
    (tmp_path / "b.nii.gz").write_bytes(gzip.compress(raw[:400]) + gzip.compress(raw[400:]))
    assert np.array_equal(read_mask(tmp_path / "b.nii.gz").array, labels)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.linspace(0, 1, 60).reshape(3, 4, 5).astype(np.float32), "--threshold"),
        (np.full((3, 3, 3), np.nan, np.float32), "nan"),
        (np.full((3, 3, 3), -2, np.int16), "holds -2"),
        (np.ones((3, 3, 3, 2), np.uint8), "4 axes"),
        (np.ones((3, 3, 3), np.complex64), "complex"),
    ],
)
def test_nifti_that_is_no_label_map(tmp_path, array, words):
    with pytest.raises(BadFile, match=words):
        read_mask(save_nifti(tmp_path / "a.nii", array))


def test_threshold_makes_a_mask_of_probabilities(tmp_path):
    probabilities = np.linspace(0, 1, 60).reshape(3, 4, 5).astype(np.float32)
    path = save_nifti(tmp_path / "a.nii", probabilities)
    assert np.array_equal(read_mask(path, ReadOptions(threshold=0.5)).array, probabilities >= 0.5)


@pytest.mark.parametrize("ending", [".nrrd", ".mha", ".nii.gz"])
def test_itk_formats_lie_where_nifti_does(tmp_path, labels, ending):
    sitk = pytest.importorskip("SimpleITK")
    reference = read_mask(save_nifti(tmp_path / "ref.nii.gz", labels, AFFINE))
    sitk.WriteImage(sitk.ReadImage(str(tmp_path / "ref.nii.gz")), str(tmp_path / f"a{ending}"))
    mask = read_mask(tmp_path / f"a{ending}")
    assert np.array_equal(mask.array, reference.array)
    assert np.allclose(mask.affine, reference.affine, atol=1e-5)
    assert np.allclose(mask.spacing_mm, reference.spacing_mm)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.uint16])
@pytest.mark.parametrize("ending", [".png", ".tif"])
def test_pictures_keep_their_labels(tmp_path, dtype, ending):
    array = (np.arange(35).reshape(5, 7) * (1 if dtype != np.uint16 else 1000)).astype(dtype)
    assert np.array_equal(read_mask(save_png(tmp_path / f"a{ending}", array)).array, array)


def test_tiff_of_large_ids_and_of_pages(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    ids = np.array([[0, 7], [2**31 + 5, 2**32 - 1]], np.uint32)
    tifffile.imwrite(tmp_path / "a.tif", ids)
    assert np.array_equal(read_mask(tmp_path / "a.tif").array, ids)
    pages = np.arange(4 * 5 * 6, dtype=np.uint8).reshape(4, 5, 6)
    tifffile.imwrite(tmp_path / "b.tif", pages, photometric="minisblack")
    assert np.array_equal(read_mask(tmp_path / "b.tif").array, pages)


def test_palette_positions_are_labels(tmp_path):
    picture = Image.fromarray(np.array([[0, 1], [2, 1]], np.uint8), mode="P")
    picture.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0])
    picture.save(tmp_path / "a.png")
    assert read_mask(tmp_path / "a.png").array.tolist() == [[0, 1], [2, 1]]


def test_colours_are_refused_with_advice(tmp_path):
    grey = np.repeat(np.array([[0, 255], [255, 0]], np.uint8)[..., None], 3, axis=2)
    with pytest.raises(BadFile, match="channels are equal"):
        read_mask(save_png(tmp_path / "a.png", grey))
    grey[0, 0] = (255, 0, 0)
    with pytest.raises(BadFile, match="3 colours"):
        read_mask(save_png(tmp_path / "b.png", grey))


def test_jpeg_is_refused_as_lossy(tmp_path):
    path = save_png(tmp_path / "a.jpg", np.zeros((8, 8), np.uint8))
    with pytest.raises(BadFile, match="PNG"):
        read_mask(path)


def test_numpy_and_matlab(tmp_path, labels):
    np.save(tmp_path / "a.npy", labels)
    np.savez(tmp_path / "a.npz", other=labels * 0, inst_map=labels)
    np.savez(tmp_path / "b.npz", one=labels, two=labels)
    savemat(tmp_path / "a.mat", {"inst_map": labels.astype(float), "type_map": labels * 0})
    for name in ("a.npy", "a.npz", "a.mat"):
        assert np.array_equal(read_mask(tmp_path / name).array, labels)
    with pytest.raises(BadFile, match="--key"):
        read_mask(tmp_path / "b.npz")
    assert np.array_equal(read_mask(tmp_path / "b.npz", ReadOptions(key="two")).array, labels)


def test_pickled_arrays_are_not_opened(tmp_path):
    np.save(tmp_path / "a.npy", np.array({"masks": 1}, dtype=object), allow_pickle=True)
    with pytest.raises(BadFile, match="run code"):
        read_mask(tmp_path / "a.npy")


def test_label_text(tmp_path):
    (tmp_path / "a.txt").write_text("3 2\n0\n1\n2\n3\n4\n5\n")
    assert read_mask(tmp_path / "a.txt").array.tolist() == [[0, 1, 2], [3, 4, 5]]
    (tmp_path / "b.txt").write_text("3 3\n0\n1\n2\n3\n4\n5\n")
    with pytest.raises(BadFile, match="6 labels for 3 x 3"):
        read_mask(tmp_path / "b.txt")


def test_a_folder_of_masks_is_one_map(tmp_path):
    one, two = np.zeros((2, 4, 4), np.uint8)
    one[0:2, 0:2] = 255
    two[1:3, 1:3] = 255
    save_png(tmp_path / "m" / "a.png", one)
    save_png(tmp_path / "m" / "b.png", two)
    mask = read_mask(tmp_path / "m")
    assert mask.array.tolist() == [[1, 1, 0, 0], [1, 2, 2, 0], [0, 2, 2, 0], [0, 0, 0, 0]]
    assert "1 pixels" in mask.notes[0]


XML = """<Annotations><Annotation Id="1"><Regions>
<Region Id="1" NegativeROA="0"><Vertices>
<Vertex X="1" Y="1"/><Vertex X="6" Y="1"/><Vertex X="6" Y="6"/><Vertex X="1" Y="6"/></Vertices></Region>
<Region Id="2" NegativeROA="1"><Vertices>
<Vertex X="3" Y="3"/><Vertex X="4" Y="3"/><Vertex X="4" Y="4"/><Vertex X="3" Y="4"/></Vertices></Region>
</Regions></Annotation></Annotations>"""


def test_polygons_and_holes(tmp_path):
    (tmp_path / "a.xml").write_text(XML)
    array = read_mask(tmp_path / "a.xml", size=(9, 8)).array
    assert array.shape == (9, 8)
    assert array[2, 2] == 1
    assert array[3, 3] == 0
    assert array[8, 7] == 0
    with pytest.raises(BadFile, match="--images"):
        read_mask(tmp_path / "a.xml")


def test_xml_entities_are_refused(tmp_path):
    (tmp_path / "a.xml").write_text('<!DOCTYPE a [<!ENTITY b "c">]>' + XML)
    with pytest.raises(BadFile, match="document type"):
        read_mask(tmp_path / "a.xml", size=(9, 8))


def test_digest_follows_content_and_names(tmp_path):
    save_png(tmp_path / "m" / "a.png", np.zeros((4, 4), np.uint8))
    first = content_digest(tmp_path / "m")
    (tmp_path / "m" / "a.png").rename(tmp_path / "m" / "b.png")
    assert content_digest(tmp_path / "m") != first
