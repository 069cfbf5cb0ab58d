"""NIH ChestX-ray14: every label lands in its class, and every fault of a folder is named."""

import csv
from collections import Counter

import numpy as np
import pytest

from medfed.data import Site, Vocabulary, open_cases
from medfed.data.dataset import ImageCache, readable
from medfed.errors import BadFile, DataError, LabelNotMapped, TooManyBadFiles, UnknownAlias
from medfed.job import validate_model
from medfed.transforms import ImagePipeline

CXR = Vocabulary.load("cxr14")
PIPELINE = ImagePipeline(16)


def site(**dataset):
    return validate_model(
        Site, {"datasets": {"chest": {"kind": "nih_cxr14", **dataset}}}, "site.toml"
    )


def test_findings_become_classes_and_what_nobody_annotates_is_unknown(nih):
    cases = open_cases(site(root=nih), "chest", CXR)
    column = {name: cases.labels[:, i] for i, name in enumerate(CXR.classes)}
    assert column["Pneumonia"].tolist() == [0, 1, 0, 0] * 6
    assert column["Mass"].tolist() == column["Nodule"].tolist() == [0, 0, 1, 0] * 6
    assert column["Edema"].tolist() == [0, 0, 0, 1] * 6
    assert (column["Lung Opacity"] == -1).all()
    assert (column["Fracture"] == -1).all()
    assert cases.annotated.sum() == 12
    assert Counter(cases.patients) == {str(n): 2 for n in range(12)}


def test_only_listed_patients_are_kept(nih, tmp_path):
    (tmp_path / "patients.txt").write_text("3\n7  # seen in March\n\n")
    cases = open_cases(site(root=nih, patients=tmp_path / "patients.txt"), "chest", CXR)
    assert set(cases.patients) == {"3", "7"}


def test_an_unknown_alias_names_those_there_are(nih):
    with pytest.raises(UnknownAlias, match=r"datasets\.xray.*defined: chest"):
        open_cases(site(root=nih), "xray", CXR)


def test_a_table_that_names_a_missing_image(nih):
    (nih / "images" / "00000003_000.png").unlink()
    with pytest.raises(DataError, match=r"00000003_000\.png") as caught:
        open_cases(site(root=nih), "chest", CXR)
    assert "0000" not in caught.value.upstream


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (lambda root: None, "does not exist"),
        (lambda root: root.mkdir(), "is empty"),
        (lambda root: (root.mkdir(), (root / "a.png").write_bytes(b"x")), "no label table"),
        (
            lambda root: (root.mkdir(), (root / "Data_Entry.csv").write_text("a,b\n1,2\n")),
            "no column",
        ),
        (
            lambda root: (root.mkdir(), (root / "Data_Entry.csv").write_bytes(b"\xff\xfe\x00")),
            "cannot be read",
        ),
    ],
)
def test_a_wrong_root_is_named(tmp_path, prepare, says):
    root = tmp_path / "root"
    prepare(root)
    with pytest.raises(DataError, match=says) as caught:
        open_cases(site(root=root), "chest", CXR)
    assert str(tmp_path) not in caught.value.upstream


def test_a_finding_without_a_mapping(nih):
    table = nih / "Data_Entry_2017.csv"
    table.write_text(table.read_text().replace("Mass|Nodule", "Mass|Nodul"))
    with pytest.raises(LabelNotMapped, match="'Nodul'"):
        open_cases(site(root=nih), "chest", CXR)


def test_a_row_that_stands_twice_with_other_findings(nih):
    with (nih / "Data_Entry_2017.csv").open("a", newline="") as file:
        csv.writer(file).writerow(["00000001_000.png", "Hernia", 0, "0", 1, 1])
    with pytest.raises(DataError, match="stands twice"):
        open_cases(site(root=nih), "chest", CXR)


def truncate(nih, name):
    path = nih / "images" / name
    path.write_bytes(path.read_bytes()[:80])


def test_a_truncated_image_is_left_out_and_named_at_the_site(nih):
    truncate(nih, "00000005_000.png")
    cases = open_cases(site(root=nih), "chest", CXR)
    kept, bad = readable(cases, PIPELINE, ImageCache(10), on_bad_file="skip", max_bad_share=0.1)
    assert len(kept) == 23
    assert [case.name for case in bad] == ["00000005_000.png"]
    assert "cannot be decoded" in bad[0].reason


def test_a_truncated_image_ends_the_job_where_the_site_says_so(nih):
    truncate(nih, "00000005_000.png")
    cases = open_cases(site(root=nih), "chest", CXR)
    with pytest.raises(BadFile, match="00000005"):
        readable(cases, PIPELINE, ImageCache(10), on_bad_file="stop", max_bad_share=0.1)


def test_too_many_bad_images_end_it_all_the_same(nih):
    for n in range(4):
        truncate(nih, f"{n:08d}_000.png")
    cases = open_cases(site(root=nih), "chest", CXR)
    with pytest.raises(TooManyBadFiles, match="4 of 24") as caught:
        readable(cases, PIPELINE, ImageCache(10), on_bad_file="skip", max_bad_share=0.1)
    assert not any(ch.isdigit() for ch in caught.value.upstream)


def test_the_real_table_gives_the_counts_its_readme_states(real_data):
    root = real_data / "nih_cxr14"
    cases = open_cases(site(root=root, images=["images_128", "images_64"]), "chest", CXR)
    counts = dict(zip(CXR.classes, (cases.labels == 1).sum(axis=0).tolist(), strict=True))
    assert len(cases) == 1993
    assert len(set(cases.patients)) == 940
    assert counts["Pneumonia"] == 504
    assert counts["Infiltration"] == 346
    assert counts["Hernia"] == 12


def test_real_images_of_every_mode_decode(real_data):
    root = real_data / "nih_cxr14"
    cases = open_cases(
        site(root=root, images=["original_1024", "images_64", "images_128"]), "chest", CXR
    )
    kept, bad = readable(cases, PIPELINE, ImageCache(64), on_bad_file="stop", max_bad_share=0)
    assert len(kept) == 1993
    assert bad == ()
    assert {np.ndim(cases.read(i)) for i in range(0, len(cases), 40)} <= {2, 3}
