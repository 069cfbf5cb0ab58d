"""Damaged files are refused with BadFile, whatever the damage; nothing else ever escapes."""

import gzip

import numpy as np
import pytest
from mask_writers import save_nifti, save_png
from scipy.io import savemat

from medfed.errors import BadFile, MedfedError
from medfed.evaluation.mask_files import read_mask

ENDINGS = [".nii", ".nii.gz", ".png", ".tif", ".npy", ".npz", ".mat", ".txt", ".xml"]


def write(path, labels):
    ending = "".join(path.suffixes)
    if ending.startswith(".nii"):
        save_nifti(path, labels)
    elif ending in (".png", ".tif"):
        save_png(path, labels[0])
    elif ending == ".npy":
        np.save(path, labels)
    elif ending == ".npz":
        np.savez_compressed(path, labels)
    elif ending == ".mat":
        savemat(path, {"inst_map": labels}, do_compression=True)
    elif ending == ".txt":
        path.write_text("5 6\n" + "\n".join(map(str, labels[0].ravel())) + "\n")
    else:
        vertices = "".join(f'<Vertex X="{x}" Y="{y}"/>' for x, y in ((0, 0), (3, 0), (3, 3)))
        path.write_text(f"<A><Region><Vertices>{vertices}</Vertices></Region></A>")
    return path


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_cut_off_anywhere_is_refused(tmp_path, labels, ending):
    whole = write(tmp_path / f"a{ending}", labels).read_bytes()
    # The last bytes of PNG, TIFF and text carry no labels; a reader may do without them.
    last = len(whole) - (0 if ending.startswith(".nii") else 30)
    for length in sorted({0, 1, 10, *np.linspace(0, max(last - 1, 2), 12).astype(int).tolist()}):
        path = tmp_path / f"b{ending}"
        path.write_bytes(whole[:length])
        with pytest.raises(BadFile):
            read_mask(path, size=(6, 5))


@pytest.mark.parametrize("ending", ENDINGS)
def test_random_damage_gives_a_mask_or_a_refusal(tmp_path, labels, ending):
    whole = write(tmp_path / f"a{ending}", labels).read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(0, min(len(whole), 400), rng.integers(1, 6)):
            damaged[place] = rng.integers(256)
        path = tmp_path / f"b{ending}"
        path.write_bytes(damaged)
        try:
            mask = read_mask(path, size=(6, 5))
        except MedfedError as error:
            assert error.local  # noqa: PT017 - both outcomes are right
        else:
            assert mask.array.ndim in (2, 3)


def test_one_flipped_bit_in_compressed_voxels_is_noticed(tmp_path):
    labels = np.random.default_rng(0).integers(0, 5, (20, 20, 20)).astype(np.uint8)
    path = save_nifti(tmp_path / "a.nii.gz", labels)
    data = bytearray(path.read_bytes())
    data[-6] ^= 1  # inside the checksum
    path.write_bytes(data)
    with pytest.raises(BadFile, match="check"):
        read_mask(path)


def test_a_header_that_claims_a_giant_volume_is_refused_at_once(tmp_path, labels):
    raw = bytearray(save_nifti(tmp_path / "a.nii", labels).read_bytes())
    raw[40:56] = np.array([3, 32767, 32767, 32767, 1, 1, 1, 1], "<i2").tobytes()
    (tmp_path / "b.nii.gz").write_bytes(gzip.compress(bytes(raw)))
    with pytest.raises(BadFile, match="claims"):
        read_mask(tmp_path / "b.nii.gz")
    raw[40:56] = np.array([3, 2000, 2000, 2000, 1, 1, 1, 1], "<i2").tobytes()
    (tmp_path / "c.nii.gz").write_bytes(gzip.compress(bytes(raw)))
    with pytest.raises(BadFile, match="cut off"):
        read_mask(tmp_path / "c.nii.gz")


def test_a_missing_file_and_an_unknown_format(tmp_path):
    with pytest.raises(BadFile, match="no such file"):
        read_mask(tmp_path / "a.png")
    (tmp_path / "a.doc").write_text("x")
    with pytest.raises(BadFile, match="unknown format"):
        read_mask(tmp_path / "a.doc")
