"""The page: one file, nothing loaded, nothing believed, and honest about what is missing."""

import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

from medfed.errors import RunFolderError
from medfed.report import Metric, RunFolder, build_report

HOSTILE = '<script>alert("x")</script>&"\''
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Outline(HTMLParser):
    """Open tags, attributes and whether every tag was closed."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.faults = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def page(folder):
    return build_report(folder.path).read_text(encoding="utf-8")


def test_the_page_stands_alone_and_is_well_formed(fill, new_folder):
    text = page(fill(new_folder()))
    outline = Outline(text)
    assert not outline.faults
    assert not outline.open
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(outline.tags)
    assert not re.search(r"https?://|url\(|@import|javascript:", text)
    assert not any(name.startswith("on") or name == "src" for name, _ in outline.attributes)
    assert all(value.startswith("#") for name, value in outline.attributes if name == "href")
    assert "default-src 'none'" in text


def test_every_link_has_its_section(fill, new_folder):
    outline = Outline(page(fill(new_folder())))
    ids = {value for name, value in outline.attributes if name == "id"}
    assert {value[1:] for name, value in outline.attributes if name == "href"} <= ids


def test_figures_are_well_formed_and_have_a_description(fill, new_folder):
    figures = re.findall(r"<svg.*?</svg>", page(fill(new_folder())), re.DOTALL)
    assert len(figures) == 7
    for svg in figures:
        assert ET.fromstring(svg).find("title").text
        assert "nan" not in svg
        assert "inf" not in svg


def test_the_same_run_gives_the_same_page(fill, new_folder):
    folder = fill(new_folder())
    assert page(folder) == page(RunFolder.open(folder.path))


def test_a_hostile_name_is_text_everywhere(fill, new_folder):
    folder = new_folder()
    classes = (HOSTILE, "b", "c", "d")
    fill(folder, name=HOSTILE, sites=(HOSTILE, "b"), classes=classes, dropped=(), data=HOSTILE,
         mapping={HOSTILE: {HOSTILE: HOSTILE, "other": ""}}, networks={HOSTILE: HOSTILE},
         selection=HOSTILE, noise=HOSTILE, versions={HOSTILE: HOSTILE})  # fmt: skip
    folder.finish("failed", HOSTILE)
    text = page(folder)
    assert "<script" not in text
    assert not Outline(text).faults
    assert "&lt;script&gt;" in text


def test_phantoms_are_announced_on_every_product(fill, new_folder):
    folder = fill(new_folder(), synthetic=True)
    folder.write_student({"w": np.zeros(1)}, LOADER)
    text = page(folder)
    assert text.index("Phantom data") < text.index("<h1>")
    assert "Phantom data" in (folder.path / "student" / "model_card.md").read_text()
    assert "Phantom data" not in page(fill(new_folder("real")))


def test_a_partial_run_is_called_partial_on_every_product(fill, new_folder):
    folder = fill(new_folder(), lost=("west",))
    folder.write_student({"w": np.zeros(1)}, LOADER)
    text = page(folder)
    assert "<title>PARTIAL:" in text
    assert "This run is partial" in text
    assert "From a partial run: the student" in text
    for name in ("privacy.md", "student/model_card.md"):
        assert "Partial run" in (folder.path / name).read_text()


def test_a_run_that_ended_at_once_still_has_a_page(new_folder):
    folder = new_folder()
    folder.finish("failed", "too few sites answered")
    text = page(folder)
    assert not Outline(text).faults
    assert "too few sites answered" in text
    assert "This run holds no scores" in text
    assert "No site was asked" in text


@pytest.mark.parametrize("missing", [
    "run.json", "metrics.csv", "wire.csv", "scores.npz", "coverage.json", "history.csv",
    "phases.csv", "receipts.jsonl", "disclosures.jsonl", "status.json",
])  # fmt: skip
def test_any_record_may_be_missing(fill, new_folder, missing):
    folder = fill(new_folder())
    (folder.path / missing).unlink()
    assert not Outline(page(folder)).faults


def test_single_label_runs_lead_with_accuracy(fill, new_folder):
    text = page(fill(new_folder(), single=True))
    assert "The student reaches an accuracy of" in text
    assert "Accuracy of every model" in text
    assert "mean AUROC" in text


def test_undefined_scores_are_dashes(fill, new_folder):
    folder = fill(new_folder())
    nan = float("nan")
    folder.write_metrics(
        [Metric("student", c, "auroc", nan, nan, nan, 0, 0) for c in ("Mass", "mean")]
    )
    text = page(folder)
    assert "nan" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL).lower()
    assert "no score of a student" in text


def test_no_claim_of_differential_privacy_without_a_guarantee(fill, new_folder):
    text = page(fill(new_folder(), noise="laplace, scale 1.0, at the site"))
    assert "No formal differential privacy" in text
    assert "claims none" in text
    text = page(fill(new_folder("dp"), guarantee="(2.0, 1e-5) per patient against the server."))
    assert "No formal differential privacy" not in text
    assert "(2.0, 1e-5) per patient" in text


def test_what_left_is_listed_with_digests(fill, new_folder):
    folder = fill(new_folder())
    text = page(folder)
    assert text.count("<code title=") == 4 * 4
    assert (folder.path / "privacy.md").read_text().count("| logits |") == 4


def test_four_hundred_sites_make_a_page_of_reasonable_size(fill, new_folder):
    sites = tuple(f"site-{i:03d}" for i in range(400))
    folder = new_folder()
    fill(folder, sites=sites)
    metrics = [
        Metric(f"site/{s}", "mean", "auroc", 0.5 + i / 1000, 0.4, 0.99, 300, 0)
        for i, s in enumerate(sites)
    ]
    folder.write_metrics([*metrics, Metric("student", "mean", "auroc", 0.9, 0.88, 0.92, 300, 0)])
    text = page(folder)
    assert len(text) < 1_500_000
    assert "site-399 alone (best of 400 sites)" in text
    assert "site-200 alone (middle of 400 sites)" in text


def test_no_run_is_an_error(tmp_path):
    with pytest.raises(RunFolderError):
        build_report(tmp_path)


LOADER = {
    "network": {"name": "small", "args": {}}, "in_channels": 1, "classes": ["a"],
    "task_kind": "multi_label", "image": {"size": 64},
}  # fmt: skip
