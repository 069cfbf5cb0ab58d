"""A whole run in this process: what it leaves behind, options, and the same seed twice."""

import csv
import json

import numpy as np
import pytest
from PIL import Image


def test_a_run_leaves_its_student_and_its_records(reference, helpers):
    assert reference.status().outcome == "complete"
    with (reference.path / "metrics.csv").open() as file:
        models = {row["model"] for row in csv.DictReader(file)}
    assert models == {
        "site/site-1", "site/site-2", "ensemble/positives", "ensemble/samples", "ensemble/uniform", "student",
    }  # fmt: skip
    receipts = helpers.lines(reference, "receipts.jsonl")
    phases = {(row["site"], row["phase"]) for row in receipts}
    wanted = ("open", "train", "predict public", "predict benchmark")
    assert phases == {(site, phase) for site in ("site-1", "site-2") for phase in wanted}
    kinds = {row["kind"] for row in helpers.lines(reference, "disclosures.jsonl")}
    assert kinds == {"opened", "trained", "logits", "closed"}
    assert (reference.path / "report.html").stat().st_size > 10_000


def test_the_same_seed_gives_the_same_student_and_another_does_not(federation, reference, helpers):
    assert helpers.student(federation.run()) == helpers.student(reference)
    other = federation.run(federation.job(seed=4), "other")
    assert helpers.student(other) != helpers.student(reference)


OPTIONS = {
    "float32": {"fedkd": {"levels": 0}},
    "paper quantiser": {"fedkd": {"quantiser": "paper", "levels": 16}},
    "noise at the site": {"fedkd": {"noise": {"mechanism": "laplace", "scale": 1.0}}},
    "noise on the aggregate": {
        "fedkd": {"noise": {"mechanism": "gaussian", "scale": 1.0, "where": "aggregate"}}
    },
    "entropy": {"fedkd": {"confidence": "entropy"}},
    "outlier": {"fedkd": {"confidence": "outlier"}},
    "calibrate": {"fedkd": {"calibrate": True}},
    "vote": {"distillation": {"select_by": "vote"}},
    "samples": {"fedkd": {"weight_by": "samples"}},
    "annotated": {"fedkd": {"weight_by": "annotated"}},
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_runs_to_the_end(federation, name):
    folder = federation.run(federation.job(**OPTIONS[name]))
    assert folder.status().outcome == "complete"
    assert (folder.path / "student" / "model.safetensors").is_file()


@pytest.mark.usefixtures("quick")
def test_uniform_weights_need_no_counts(federation, helpers):
    for number, name in enumerate(federation.names):
        federation.write(name, helpers.phantoms("train", 1000 * (number + 1)) + helpers.SHARED)
    folder = federation.run(federation.job(fedkd={"weight_by": "uniform"}))
    assert folder.status().outcome == "complete"
    opened = json.loads((folder.path / "state" / "opened.json").read_text())
    for answer in opened.values():
        assert answer["samples"] == 0
        assert not any(answer["positives"] + answer["annotated"])


def write_pictures(root, classes, count, seed, labelled=True):
    """Bright or dark pictures by class, each different."""
    rng = np.random.default_rng(seed)
    for n in range(count):
        name = classes[n % len(classes)]
        folder = root / (name if labelled else "all")
        folder.mkdir(parents=True, exist_ok=True)
        level = 40 + 160 * (n % len(classes)) // max(1, len(classes) - 1)
        pixels = rng.integers(level - 20, level + 20, (16, 16)).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{n:03d}.png")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("confidence", ["none", "entropy", "outlier"])
def test_a_single_label_task_on_image_folders(federation, confidence):
    classes = ("normal", "pneumonia")
    write_pictures(federation.folder / "public", classes, 20, 1, labelled=False)
    write_pictures(federation.folder / "benchmark", classes, 20, 2)
    shared = '\n[datasets.public]\nkind = "image_folder"\nroot = "../public"\n'
    shared += (
        '\n[datasets.benchmark]\nkind = "image_folder"\nroot = "../benchmark"\nlabelled = true\n'
    )
    for number, name in enumerate(federation.names):
        # The second site has one class only.
        own = classes if number == 0 else classes[:1]
        write_pictures(federation.folder / name, own, 20, 10 + number)
        train = f'\n[datasets.train]\nkind = "image_folder"\nroot = "../{name}"\nlabelled = true\n'
        federation.write(
            name, train + shared + "\n[privacy]\nlabel_counts = true\nsmall_cell = 1\n"
        )
    federation.write("server", shared)
    job = federation.job(
        task="pneumonia2", fedkd={"confidence": confidence},
        distillation={"select_by": "vote", "loss": "kl"},
    )  # fmt: skip
    folder = federation.run(job)
    assert folder.status().outcome == "complete"
    assert ",accuracy," in (folder.path / "metrics.csv").read_text()
