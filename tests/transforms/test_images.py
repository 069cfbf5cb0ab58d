"""PNG, TIFF and JPEG of any mode become arrays in [0, 1]; the pipeline is one function of them."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from medfed.errors import BadFile
from medfed.transforms import ImagePipeline, RawImage, read_image
from medfed.transforms.images import read_raw

GREY = np.arange(48, dtype=np.uint8).reshape(6, 8) * 5


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr"])
def test_every_mode_gives_grey_or_three_planes(tmp_path, mode):
    suffix = "tif" if mode in ("CMYK", "YCbCr") else "png"
    path = tmp_path / f"x.{suffix}"
    Image.fromarray(GREY).convert(mode).save(path)
    pixels = read_image(path)
    assert pixels.dtype == np.float32
    assert pixels.shape in ((6, 8), (3, 6, 8))
    assert pixels.min() >= 0
    assert pixels.max() <= 1
    if mode in ("L", "LA"):
        assert np.allclose(pixels, GREY / 255)
    if mode in ("RGB", "RGBA"):
        assert np.allclose(pixels, (GREY / 255)[None])


def test_sixteen_bits_are_scaled_by_sixteen_bits(tmp_path):
    deep = GREY.astype(np.uint16) * 257
    for suffix in ("png", "tif"):
        Image.fromarray(deep).save(tmp_path / f"x.{suffix}")
        assert np.allclose(read_image(tmp_path / f"x.{suffix}"), GREY / 255, atol=1e-6)


def test_tiff_that_pillow_does_not_know(tmp_path):
    import tifffile

    deep = np.random.default_rng(0).integers(0, 65_535, (5, 7, 3)).astype(np.uint16)
    tifffile.imwrite(tmp_path / "x.tif", deep, photometric="rgb")
    assert np.allclose(read_image(tmp_path / "x.tif"), deep.transpose(2, 0, 1) / 65_535, atol=1e-6)


def test_an_exif_free_path_with_spaces_and_letters_of_many_alphabets(tmp_path):
    path = tmp_path / "Aufnahme Nr 3 – Größe 日本.png"
    Image.fromarray(GREY).save(path)
    assert read_image(path).shape == (6, 8)


@pytest.mark.parametrize(
    ("data", "says"),
    [(b"", "0 bytes"), (b"hello world, no image here", "not an image"), (None, "is missing")],
)
def test_a_file_that_is_no_image_is_named(tmp_path, data, says):
    path = tmp_path / "patient-77.png"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(BadFile, match=says) as caught:
        read_image(path)
    assert "patient-77" in caught.value.local
    assert "patient-77" not in caught.value.upstream


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 400))
def test_a_truncated_png_is_a_bad_file_wherever_it_ends(tmp_path_factory, end):
    path = tmp_path_factory.mktemp("t") / "x.png"
    pixels = np.random.default_rng(0).integers(0, 255, (20, 20), np.uint8)
    Image.fromarray(pixels).save(path)
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(BadFile):
        read_image(path)


def test_a_file_of_four_gib_is_refused_by_its_size(tmp_path):
    path = tmp_path / "x.png"
    Image.fromarray(GREY).save(path)
    os.truncate(path, 4 << 30)  # sparse: takes no room on the disk
    with pytest.raises(BadFile, match=r"4\.0 GiB.*tiles"):
        read_image(path)


def test_a_link_to_itself_is_named(tmp_path):
    (tmp_path / "x.png").symlink_to(tmp_path / "x.png")
    with pytest.raises(BadFile, match=r"x\.png"):
        read_image(tmp_path / "x.png")


def by_hand(plane, size):
    """Antialiased bilinear resizing: triangle weights as wide as the step, normalised, one axis after the other."""

    def weights(length):
        step = length / size
        centres = (np.arange(size) + 0.5) * step
        distance = np.abs(np.arange(length)[None] + 0.5 - centres[:, None]) / max(step, 1)
        table = np.clip(1 - distance, 0, None)
        return table / table.sum(axis=1, keepdims=True)

    return weights(plane.shape[0]) @ plane @ weights(plane.shape[1]).T


@pytest.mark.parametrize(("shape", "size"), [((20, 30), 8), ((9, 9), 16), ((64, 48), 24)])
def test_resizing_is_the_antialiased_triangle_filter(shape, size):
    plane = np.random.default_rng(0).random(shape).astype(np.float32)
    mine = ImagePipeline(size, mean=0, std=1)(plane)[0]
    assert np.allclose(mine, by_hand(plane, size), atol=1e-5)


def test_stored_bytes_and_scaled_floats_give_the_same():
    raw = RawImage(np.random.default_rng(0).integers(0, 256, (3, 40, 30), np.uint8), 255.0, "RGB")
    for channels in (1, 3):
        pipeline = ImagePipeline(16, channels)
        assert pipeline(raw).shape == (channels, 16, 16)
        assert np.allclose(pipeline(raw), pipeline(raw.scaled()), atol=1e-5)


def test_the_fingerprint_changes_with_every_parameter():
    prints = {
        ImagePipeline(*values).fingerprint()
        for values in [(32,), (33,), (32, 3), (32, 1, 0.4), (32, 1, 0.5, 0.4)]
    }
    assert len(prints) == 5
    assert ImagePipeline(32).fingerprint() == ImagePipeline(32).fingerprint()


def test_the_four_real_rgba_radiographs_are_grey(real_data):
    folder: Path = real_data / "nih_cxr14" / "original_1024"
    modes = {path.name: read_raw(path).mode for path in folder.glob("*.png")}
    assert sorted(name for name, mode in modes.items() if mode == "RGBA") == [
        "00000773_001.png",
        "00001054_002.png",
        "00004808_003.png",
        "00005435_000.png",
    ]
    for name, mode in modes.items():
        pixels = read_image(folder / name)
        assert pixels.shape == ((3, 1024, 1024) if mode == "RGBA" else (1024, 1024))
        assert np.allclose(
            pixels, np.asarray(Image.open(folder / name).convert("L")) / 255, atol=3 / 255
        )
