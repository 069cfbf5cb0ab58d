"""The run folder: checked at the door, whole after a crash, the same after a resume."""

import threading

import numpy as np
import pytest
from safetensors.numpy import load_file

from medfed.errors import RunFolderError
from medfed.report import Epoch, Metric, RunFolder, Scores, WireRow
from medfed.report import run_folder as module
from medfed.report.records import Event
from medfed.report.rows import read_csv, read_json_lines

JOB = 'name = "x"\nseed = 3\n'


def test_a_new_folder_holds_the_job_and_says_it_runs(tmp_path):
    folder = RunFolder.create(tmp_path / "run", JOB)
    assert (folder.path / "job.toml").read_text() == JOB
    assert folder.status().outcome == "running"
    assert folder.status().started
    folder.finish("complete")
    assert RunFolder.open(folder.path).status().outcome == "complete"


def test_a_folder_with_anything_in_it_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RunFolderError, match=r"is not empty\. Add --resume"):
        RunFolder.create(tmp_path, JOB)
    with pytest.raises(RunFolderError, match="holds files but no run"):
        RunFolder.create(tmp_path, JOB, resume=True)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_in_the_folders_place_is_refused(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(RunFolderError, match="is a file"):
        RunFolder.create(tmp_path / "run", JOB)
    with pytest.raises(RunFolderError, match="cannot be written"):
        RunFolder.create(tmp_path / "run" / "below", JOB)


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(tmp_path, monkeypatch):
    def denied(**kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module.tempfile, "NamedTemporaryFile", denied)
    with pytest.raises(RunFolderError, match=r"cannot be written \(Permission denied\)"):
        RunFolder.create(tmp_path / "run", JOB)


def test_too_little_disk_is_refused_before_any_work(tmp_path):
    with pytest.raises(RunFolderError, match="MiB of disk are free"):
        RunFolder.create(tmp_path / "run", JOB, free_bytes=1 << 60)


def test_resume_keeps_what_is_there(tmp_path):
    folder = RunFolder.create(tmp_path / "run", JOB)
    folder.append_event("a", "train", 1, 2)
    started = folder.status().started
    again = RunFolder.create(tmp_path / "run", "seed = 3\nname = 'x'  # same job\n", resume=True)
    again.append_event("a", "train", 2, 2)
    assert [e.done for e in read_json_lines(folder.path / "events.jsonl", Event)] == [1, 2]
    assert again.status().started == started


def test_resume_refuses_another_job(tmp_path):
    RunFolder.create(tmp_path / "run", JOB)
    with pytest.raises(RunFolderError, match="is another job"):
        RunFolder.create(tmp_path / "run", 'name = "x"\nseed = 4\n', resume=True)


def test_resume_of_nothing_starts_anew(tmp_path):
    assert RunFolder.create(tmp_path / "run", JOB, resume=True).status().outcome == "running"


def test_a_row_cut_short_by_a_power_cut_is_dropped(tmp_path):
    folder = RunFolder.create(tmp_path / "run", JOB)
    folder.record_wire(WireRow("a", "up", "logits", "predict", 10, 8, 0.5))
    path = folder.path / "wire.csv"
    path.write_text(path.read_text() + "a,up,logi")
    assert len(read_csv(path, WireRow)) == 1
    RunFolder.create(tmp_path / "run", JOB, resume=True).record_wire(
        WireRow("b", "up", "logits", "predict", 11, 9, 0.25)
    )
    assert [r.site for r in read_csv(path, WireRow)] == ["a", "b"]
    assert (
        path.read_text().splitlines()[0] == "site,direction,kind,phase,bytes,payload_bytes,seconds"
    )


def test_rows_come_back_as_they_went_in(tmp_path):
    folder = RunFolder.create(tmp_path / "run", JOB)
    metrics = [
        Metric("student", "mean", "auroc", 0.1 + 0.2, 0.25, 0.35, 100, 12),
        Metric("site/a, b", 'Odd "class"', "auroc", float("nan"), float("nan"), float("nan"), 0, 0),
    ]
    folder.write_metrics(metrics)
    back = read_csv(folder.path / "metrics.csv", Metric)
    assert back[0] == metrics[0]
    assert (back[1].model, back[1].label) == (metrics[1].model, metrics[1].label)
    assert np.isnan(back[1].value)
    folder.append_epoch(Epoch(1, 0.5, 0.9, selected=True))
    assert read_csv(folder.path / "history.csv", Epoch) == (Epoch(1, 0.5, 0.9, selected=True),)


def test_a_foreign_csv_is_refused_by_name(tmp_path):
    (tmp_path / "metrics.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RunFolderError, match=r"metrics.csv:1: the columns"):
        read_csv(tmp_path / "metrics.csv", Metric)


def test_threads_do_not_tear_rows(tmp_path):
    folder = RunFolder.create(tmp_path / "run", JOB)

    def work(name):
        for i in range(50):
            folder.record_wire(WireRow(name, "up", "logits", "predict", i, i, 0.0))

    threads = [threading.Thread(target=work, args=(f"s{i}",)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(read_csv(folder.path / "wire.csv", WireRow)) == 200


def test_scores_hold_no_pickle_and_no_patient_names(tmp_path):
    folder = RunFolder.create(tmp_path / "run", JOB)
    scores = Scores(np.eye(3, dtype=np.int8), np.array([0, 0, 1]), {"student": np.zeros((3, 3))})
    folder.write_scores(scores)
    with np.load(folder.path / "scores.npz", allow_pickle=False) as arrays:
        assert sorted(arrays) == ["groups", "labels", "model/student"]
        assert arrays["groups"].dtype == np.int32


def test_a_students_weights_come_back_exactly(tmp_path):
    folder = RunFolder.create(tmp_path / "run", JOB)
    weights = {"body.weight": np.arange(6, dtype=np.float32).reshape(2, 3).T, "steps": np.array(4)}
    loader = {
        "network": {"name": "small", "args": {}}, "in_channels": 1, "classes": ["a"],
        "task_kind": "multi_label", "image": {"size": 64},
    }  # fmt: skip
    student = folder.write_student(weights, loader)
    back = load_file(student / "model.safetensors")
    assert all(np.array_equal(back[k], weights[k]) for k in weights)
    assert {p.name for p in student.iterdir()} == {"model.safetensors", "student.json", "load.py"}
    with pytest.raises(RunFolderError, match="loader must hold"):
        folder.write_student(weights, {})


def test_opening_what_is_no_run_says_so(tmp_path):
    with pytest.raises(RunFolderError, match="is no run folder"):
        RunFolder.open(tmp_path)
