"""The dictionary transforms do what the functions do, survive pickling, and go back."""

import pickle

import numpy as np
import pytest

pytest.importorskip("monai")

from medfed.transforms import dictionary as d
from medfed.transforms.intensity import foreground, z_score_map
from medfed.transforms.nifti import read_volume
from medfed.transforms.stain import ReinhardReference


def again(transform):
    return pickle.loads(pickle.dumps(transform))


def test_a_volume_is_read_normalised_and_brought_back_to_its_file(save_nifti):
    from monai.transforms.compose import Compose

    voxels = np.random.default_rng(0).normal(5, 2, (4, 5, 6)).astype(np.float32)
    voxels[0] = 0
    path = save_nifti(voxels, np.diag([-1.0, -2.0, 3.0, 1.0]))
    chain = again(Compose([d.ReadVolumed("image"), d.NormaliseForegroundd("image")]))
    item = chain({"image": str(path)})
    ras = read_volume(path)
    assert np.allclose(item["image"].affine, ras.affine)
    expected = z_score_map(ras.voxels, foreground(ras.voxels)).apply(ras.voxels)
    assert np.allclose(item["image"][0], expected)
    assert np.allclose(chain.inverse(item)["image"][0], voxels, atol=1e-5)


def test_a_label_volume_is_whole_numbers(save_nifti):
    path = save_nifti(np.full((3, 3, 3), 0.9999999, np.float32))
    item = d.ReadVolumed(("label",), labels=["label"])({"label": path})
    assert item["label"].numpy().tolist() == np.ones((1, 3, 3, 3)).tolist()


def test_an_image_has_channels_first_and_its_spacing(tmp_path):
    from PIL import Image

    Image.fromarray(np.zeros((5, 6, 4), np.uint8)).save(tmp_path / "x.png")
    item = again(d.ReadImaged("image"))({"image": tmp_path / "x.png"})
    assert item["image"].shape == (3, 5, 6)
    assert item["image"].meta["mode"] == "RGBA"


def test_instances_to_classes_and_back():
    instances = np.zeros((1, 20, 20), np.int32)
    instances[0, 2:10, 2:10], instances[0, 12:19, 12:19] = 1, 2
    transform = again(d.TernaryMapd("label", smallest_px=1))
    item = transform({"label": instances})
    assert set(np.unique(item["label"])) == {0, 1, 2}
    assert transform.inverse(item)["label"].max() == 2


def test_tiles_and_back():
    image = np.random.default_rng(0).random((3, 30, 41)).astype(np.float32)
    transform = again(d.CutTilesd("image", 16, 4))
    item = transform({"image": image})
    assert item["image"].shape[1:] == (3, 16, 16)
    assert np.allclose(transform.inverse(item)["image"], image, atol=1e-6)


def test_stain_by_six_numbers():
    reference = ReinhardReference((60.0, 20.0, -10.0), (10.0, 5.0, 5.0))
    image = np.random.default_rng(0).random((3, 12, 12)).astype(np.float32)
    item = again(d.NormaliseStaind("image", reference))({"image": image})
    assert item["image"].shape == (3, 12, 12)
