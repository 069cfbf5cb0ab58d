"""Nuclei files: every format gives the instances that were put in, and every fault is named."""

import io
import struct
import zipfile

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from medfed.errors import BadFile
from medfed.transforms import instance_files as files

TWO = np.zeros((12, 16), np.int32)
TWO[2:6, 2:7] = 1
TWO[5:11, 9:15] = 2


def same(found, truth):
    """The same nuclei, whatever their numbers."""
    pairs = set(zip(found.ravel().tolist(), truth.ravel().tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def xml(regions, newline="\r\n"):
    body = newline.join(
        f'<Region Id="{i}" NegativeROA="{negative}"><Vertices>'
        + newline.join(f'<Vertex X="{x}" Y="{y}" Z="0"/>' for x, y in corners)
        + "</Vertices></Region>"
        for i, (corners, negative) in enumerate(regions)
    )
    return f'<Annotations><Annotation Id="1"><Regions>{newline}{body}</Regions></Annotation></Annotations>'


BOX1 = [(2, 2), (6, 2), (6, 5), (2, 5)]
BOX2 = [(9, 5), (14, 5), (14, 10), (9, 10)]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_imagescope_regions_and_line_ends_of_windows(tmp_path, newline):
    path = tmp_path / "x.xml"
    path.write_text(xml([(BOX1, 0), (BOX2, 0), (BOX1, 1)], newline), newline="")
    assert same(files.read_imagescope(path, TWO.shape), TWO)


def test_where_contours_overlap_the_small_nucleus_survives(tmp_path):
    inner = [(3, 3), (4, 3), (4, 4), (3, 4)]
    (tmp_path / "x.xml").write_text(xml([(inner, 0), (BOX1, 0)]))
    found = files.read_imagescope(tmp_path / "x.xml", TWO.shape)
    assert found.max() == 2
    assert (found == found[3, 3]).sum() == 4


def test_a_cpm_text_mask_is_read_row_by_row(tmp_path):
    for newline in ("\n", "\r\n"):
        text = newline.join(map(str, [16, 12, *TWO.ravel()]))
        (tmp_path / "x_mask.txt").write_text(text, newline="")
        assert np.array_equal(files.read_text_mask(tmp_path / "x_mask.txt"), TWO)


def test_a_hovernet_map_and_numbers_with_gaps(tmp_path):
    savemat(tmp_path / "x.mat", {"inst_map": np.where(TWO == 2, 900, TWO).astype(np.float64)})
    assert np.array_equal(files.read_mat(tmp_path / "x.mat"), TWO)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_a_label_image_of_eight_and_sixteen_bits(tmp_path, dtype):
    Image.fromarray((TWO * (100 if dtype == np.uint8 else 20_000)).astype(dtype)).save(
        tmp_path / "x.png"
    )
    assert np.array_equal(files.read_label_image(tmp_path / "x.png"), TWO)


def test_binary_and_three_class_images_by_their_connected_pieces(tmp_path):
    Image.fromarray(((TWO > 0) * 255).astype(np.uint8)).convert("RGBA").save(tmp_path / "b.png")
    assert same(files.read_binary(tmp_path / "b.png"), TWO)
    Image.fromarray((TWO > 0).astype(np.uint8)).save(tmp_path / "t.png")
    assert same(files.read_ternary(tmp_path / "t.png"), TWO)


def test_a_folder_of_one_mask_a_nucleus(tmp_path):
    for number in (1, 2):
        Image.fromarray(((number == TWO) * 255).astype(np.uint8)).save(tmp_path / f"{number}.png")
    found = files.read_mask_folder(sorted(tmp_path.glob("*.png")), TWO.shape)
    assert same(found, TWO)
    with pytest.raises(BadFile, match="16x12, its image 9x9"):
        files.read_mask_folder(sorted(tmp_path.glob("*.png")), (9, 9))


def roi(kind, box, points=(), subpixel=False):
    top, left, bottom, right = box
    head = bytearray(64)
    head[:4] = b"Iout"
    struct.pack_into(">hB", head, 4, 228, kind)
    struct.pack_into(">hhhhH", head, 8, top, left, bottom, right, len(points))
    struct.pack_into(">h", head, 50, 128 if subpixel else 0)
    whole = b"".join(struct.pack(">h", round(x) - left) for x, _ in points)
    whole += b"".join(struct.pack(">h", round(y) - top) for _, y in points)
    if subpixel:
        whole += b"".join(struct.pack(">f", x) for x, _ in points) + b"".join(
            struct.pack(">f", y) for _, y in points
        )
    return bytes(head) + whole


def archive(path, regions):
    with zipfile.ZipFile(path, "w") as file:
        for number, data in enumerate(regions):
            file.writestr(f"{number}.roi", data)
    return path


@pytest.mark.parametrize("subpixel", [False, True])
def test_imagej_outlines_count_from_a_pixels_corner(tmp_path, subpixel):
    first = [(2, 2), (7, 2), (7, 6), (2, 6)]
    second = [(9, 5), (15, 5), (15, 11), (9, 11)]
    regions = [roi(0, (2, 2, 6, 7), first, subpixel), roi(7, (5, 9, 11, 15), second, subpixel)]
    found = files.read_roi_archive(archive(tmp_path / "RoiSet.zip", regions), TWO.shape)
    assert same(found, TWO)


def test_imagej_rectangles_and_ovals(tmp_path):
    found = files.read_roi_archive(
        archive(tmp_path / "a.zip", [roi(1, (2, 2, 6, 7)), roi(1, (5, 9, 11, 15))]), TWO.shape
    )
    assert same(found, TWO)
    oval = (
        files.read_roi_archive(archive(tmp_path / "b.zip", [roi(2, (0, 0, 12, 12))]), (12, 12)) > 0
    )
    assert abs(oval.sum() - np.pi * 36) < 8
    assert np.array_equal(oval, oval[::-1])


def empty_zip():
    buffer = io.BytesIO()
    zipfile.ZipFile(buffer, "w").close()
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "read", "says"),
    [
        ("x.xml", b"<a><b>", lambda p: files.read_imagescope(p, (9, 9)), "ImageScope XML"),
        (
            "x.xml",
            b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
            lambda p: files.read_imagescope(p, (9, 9)),
            "entities",
        ),
        ("x.xml", b"<a/>", lambda p: files.read_imagescope(p, (9, 9)), "no region"),
        ("x.txt", b"3\n2\n0\n1\n", files.read_text_mask, "promises 3 x 2"),
        ("x.txt", b"3\ntwo\n", files.read_text_mask, "no whole number"),
        ("x.txt", b"", files.read_text_mask, "0 bytes"),
        ("x.mat", b"MATLAB 5.0 MAT-file" + b"\0" * 200, files.read_mat, r"x\.mat"),
        ("x.zip", b"PK not a zip", lambda p: files.read_roi_archive(p, (9, 9)), "ImageJ regions"),
        ("x.roi", b"nope" * 40, lambda p: files.read_roi_archive(p, (9, 9)), "Iout"),
        ("x.roi", roi(3, (0, 0, 4, 4)), lambda p: files.read_roi_archive(p, (9, 9)), "no area"),
    ],
)
def test_a_fault_is_named(tmp_path, name, data, read, says):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BadFile, match=says):
        read(tmp_path / name)


def test_an_archive_without_regions_is_an_image_without_nuclei(tmp_path):
    (tmp_path / "x.zip").write_bytes(empty_zip())
    assert files.read_roi_archive(tmp_path / "x.zip", (5, 5)).max() == 0


def test_colours_and_fractions_are_no_label_image(tmp_path):
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(tmp_path / "c.png")
    with pytest.raises(BadFile, match="colours"):
        files.read_label_image(tmp_path / "c.png")
    Image.fromarray(np.full((4, 4), 0.5, np.float32)).save(tmp_path / "f.tif")
    with pytest.raises(BadFile, match="fractions"):
        files.read_label_image(tmp_path / "f.tif")


def test_real_contours_cover_the_labels_they_were_traced_from(real_data):
    folder = real_data / "nuclei" / "kumar"
    for name, least in (("training_05", 0.98), ("test_08", 0.98)):
        found = (
            files.read_imagescope(
                folder / "monuseg_layout" / "Annotations" / f"{name}.xml", (512, 512)
            )
            > 0
        )
        truth = np.asarray(Image.open(folder / "Labels3" / f"{name}.png")) > 0
        assert 2 * (found & truth).sum() / (found.sum() + truth.sum()) > least


def test_real_counts_are_those_of_the_readme(real_data):
    folder = real_data / "nuclei"
    assert sum(files.read_binary(path).max() for path in folder.glob("tnbc/GT_*/*.png")) == 4056
    assert (
        sum(files.read_ternary(path).max() for path in folder.glob("kumar/Labels3/*.png")) == 2558
    )
