"""A run folder as four hospitals would leave it, made of seeded numbers."""

import hashlib

import numpy as np
import pytest

from medfed.report import (
    MEAN,
    WHOLE,
    Disclosure,
    Epoch,
    Metric,
    Receipt,
    RunFacts,
    RunFolder,
    Scores,
    WireRow,
    coverage_of,
)
from medfed.report.roc import roc_points

NIH = (
    "Atelectasis", "Cardiomegaly", "Consolidation", "Edema", "Emphysema", "Fibrosis", "Hernia",
    "Infiltration", "Mass", "Nodule", "Pneumonia", "Pneumothorax",
)  # fmt: skip
CLASSES = (*NIH, "Lung Opacity", "Fracture")
SITES = ("east", "north", "south", "west")
SKILL = {
    "site/east": 0.7, "site/north": 0.5, "site/south": 0.9, "site/west": 0.35,
    "ensemble/uniform": 1.0, "ensemble/samples": 1.05, "ensemble/positives": 1.3, "student": 1.2,
}  # fmt: skip
JOB = """\
schema = 1
name = "four-hospitals"
method = "fedkd"
task = "cxr14"
seed = 7

[federation]
sites = ["east", "north", "south", "west"]
min_sites = 3

[networks]
student = {name = "densenet121"}
site = {name = "densenet121"}
"""


def auc(scores, labels):
    curve = roc_points(scores, labels)
    return float("nan") if curve is None else float(np.trapezoid(curve[:, 1], curve[:, 0]))


def facts(**changes):
    values = {
        "name": "four-hospitals", "method": "fedkd", "environment": "sim", "task": "cxr14",
        "task_kind": "multi_label", "classes": CLASSES, "sites": SITES, "seed": 7,
        "synthetic": False,
        "data": "Chest X-rays of NIH ChestX-ray14, split by patient.", "weighting": "positives",
        "selection": "highest agreement with the ensemble on held-out public images",
        "dropped": ("Hernia",), "public_cases": 400, "benchmark_cases": 300,
        "benchmark_patients": 240,
        "mapping": {
            "nih": {**{c: c for c in NIH}, "Effusion": "", "Pleural_Thickening": ""},
            "chexpert": {"Lung Opacity": "Lung Opacity", "Fracture": "Fracture", "Edema": "Edema",
                         "Support Devices": ""},
        },
        "networks": {"student": "densenet121", "east": "densenet121", "north": "small_cnn"},
        "student_bytes": 28_200_000,
        "versions": {"medfed": "0.1.0", "torch": "2.13.0", "monai": "1.6.1"},
    }  # fmt: skip
    return RunFacts(**{**values, **changes})


def scored(classes, *, single=False, seed=3, cases=300):
    rng = np.random.default_rng(seed)
    if single:
        chosen = rng.integers(len(classes), size=cases)
        labels = np.eye(len(classes), dtype=np.int8)[chosen]
    else:
        labels = (rng.random((cases, len(classes))) < 0.12).astype(np.int8)
    models = {}
    for model, skill in SKILL.items():
        noise = rng.standard_normal(labels.shape)
        models[model] = (labels * skill * rng.uniform(0.6, 1.5, len(classes)) + noise).astype(
            np.float32
        )
    return Scores(labels, np.arange(cases, dtype=np.int32) * 4 // 5, models)


def metrics_of(scores, classes, *, single=False, dropped=()):
    rows = []
    for model, values in scores.models.items():
        found = []
        for c, name in enumerate(classes):
            value = float("nan") if name in dropped else auc(values[:, c], scores.labels[:, c])
            found.append(value)
            positives = int((scores.labels[:, c] == 1).sum())
            rows.append(
                Metric(
                    model, name, "auroc", value, value - 0.06, min(1, value + 0.05), 300, positives
                )
            )
        mean = float(np.nanmean(found))
        rows.append(Metric(model, MEAN, "auroc", mean, mean - 0.025, mean + 0.02, 300, 0))
        if single:
            right = float((values.argmax(1) == scores.labels.argmax(1)).mean())
            rows.append(Metric(model, WHOLE, "accuracy", right, right - 0.04, right + 0.04, 300, 0))
    return rows


def filled(folder, *, single=False, lost=(), **changes):
    """Write a whole run; `lost` sites answer no prediction."""
    if single:
        changes = {"task": "mnist10", "task_kind": "single_label", "dropped": (), "mapping": {},
                   "classes": tuple(str(i) for i in range(10)), **changes}  # fmt: skip
    what = facts(**changes)
    folder.write_facts(what)
    rng = np.random.default_rng(1)
    for site in what.sites:
        _exchange(folder, site, rng, lost=site in lost)
    for phase, seconds in (
        ("open", 1.8),
        ("train", 71.4),
        ("predict", 9.2),
        ("distil", 48.9),
        ("score", 6.1),
    ):
        folder.record_phase(phase, seconds)
    for i, site in enumerate(what.sites):
        folder.record_phase("train", 40.0 + 9 * i, party=site)
    for e in range(1, 41):
        agreement = 0.92 - 0.5 * np.exp(-e / 9) + 0.004 * np.sin(e)
        folder.append_epoch(Epoch(e, float(1.4 * np.exp(-e / 8) + 0.2), float(agreement), e == 33))
    kind = "single_label" if single else "multi_label"
    folder.write_coverage(
        coverage_of(rng.standard_normal((400, len(what.classes))) * 2.5 - 1.5, kind)
    )
    scores = scored(what.classes, single=single)
    folder.write_scores(scores)
    folder.write_metrics(metrics_of(scores, what.classes, single=single, dropped=what.dropped))
    folder.finish(
        "partial" if lost else "complete", "too few sites answered in time" if lost else ""
    )
    return folder


def _exchange(folder, site, rng, *, lost):
    upload = int(rng.integers(3_200, 4_600))
    sizes = {
        "open": (13_400, 420),
        "train": (310, 300),
        "predict": (370, upload),
        "close": (290, 250),
    }
    answers = {"open": "opened", "train": "trained", "predict": "logits", "close": "closed"}
    for phase, (down, up) in sizes.items():
        folder.record_wire(WireRow(site, "down", phase, phase, down, max(0, down - 300), 0.0))
        if lost and phase in ("predict", "close"):
            folder.record_receipt(Receipt(site, phase, "late", "no answer within 600 s"))
            continue
        kind = answers[phase]
        folder.record_wire(WireRow(site, "up", kind, phase, up, max(0, up - 240), 2.5))
        shapes = {"logits": {"labelled": [14], "packed": [up - 240]}, "opened": {"positives": [14]}}
        digest = hashlib.sha256(f"{site}{phase}".encode()).hexdigest()
        folder.record_disclosure(Disclosure(site, kind, phase, up, digest, shapes.get(kind, {})))
        folder.record_receipt(
            Receipt(site, phase, "answered", versions={"medfed": "0.1.0", "torch": "2.13.0"})
        )


@pytest.fixture
def new_folder(tmp_path):
    def make(name="run"):
        return RunFolder.create(tmp_path / name, JOB)

    return make


@pytest.fixture
def fill():
    return filled


@pytest.fixture
def single_label_rows():
    classes = tuple("0123456789")
    return metrics_of(scored(classes, single=True), classes, single=True)
