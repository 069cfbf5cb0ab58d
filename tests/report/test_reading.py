"""A run read back: whole, partial, or cut off anywhere."""

import numpy as np
import pytest

from medfed.errors import RunFolderError
from medfed.report import Epoch, Receipt, read_run


def test_a_whole_run_reads_back_and_is_not_partial(fill, new_folder):
    record = read_run(fill(new_folder()).path)
    assert not record.partial
    assert record.facts.classes[-2:] == ("Lung Opacity", "Fracture")
    assert record.facts.sites == ("east", "north", "south", "west")
    assert len(record.metrics) == 8 * 15
    assert record.scores.labels.shape == (300, 14)
    assert [e.epoch for e in record.history] == list(range(1, 41))
    assert record.coverage.cases == 400


def test_a_lost_site_makes_a_run_partial(fill, new_folder):
    record = read_run(fill(new_folder(), lost=("west",)).path)
    assert record.partial
    assert "west in phase predict: no answer within 600 s" in record.shortfalls


def test_a_site_that_came_back_counts_by_its_last_receipt(fill, new_folder):
    folder = fill(new_folder())
    folder.record_receipt(Receipt("east", "predict", "late", "no answer"))
    folder.record_receipt(Receipt("east", "predict", "answered"))
    assert not read_run(folder.path).partial


def test_a_killed_run_is_partial_and_says_why(new_folder):
    record = read_run(new_folder().path)
    assert record.partial
    assert "has not finished" in record.shortfalls[0]
    assert record.facts.name == "four-hospitals"  # from job.toml alone
    assert record.facts.sites == ("east", "north", "south", "west")


def test_an_epoch_repeated_after_a_resume_replaces_itself(new_folder):
    folder = new_folder()
    for epoch, loss in ((1, 3.0), (2, 2.0), (2, 1.5), (3, 1.0)):
        folder.append_epoch(Epoch(epoch, loss, 0.5))
    assert [e.loss for e in read_run(folder.path).history] == [3.0, 1.5, 1.0]


@pytest.mark.parametrize("name", ["run.json", "coverage.json", "status.json", "scores.npz"])
@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"nothing": 1}'])
def test_a_damaged_record_is_named(fill, new_folder, name, content):
    folder = fill(new_folder())
    (folder.path / name).write_bytes(content)
    with pytest.raises(RunFolderError, match=name):
        read_run(folder.path)


def test_a_pickle_in_the_scores_is_refused(fill, new_folder):
    folder = fill(new_folder())
    np.savez(folder.path / "scores.npz", labels=np.array([object()]), groups=np.zeros(1))
    with pytest.raises(RunFolderError, match="is damaged"):
        read_run(folder.path)


def test_a_damaged_line_is_named_with_its_number(fill, new_folder):
    folder = fill(new_folder())
    with (folder.path / "receipts.jsonl").open("a") as file:
        file.write('{"site": "x"}\n')
    with pytest.raises(RunFolderError, match=r"receipts\.jsonl:17"):
        read_run(folder.path)
