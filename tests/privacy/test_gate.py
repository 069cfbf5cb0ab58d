"""What a site's policy keeps in, and its record of what it let out."""

import json

import numpy as np
import pytest

from medfed.errors import CheckpointError, GateRefusal
from medfed.job import Job
from medfed.messages import (
    LogitsUpload,
    Opened,
    Progress,
    RangeAnswer,
    Trained,
    Vote,
    VoteAnswer,
)
from medfed.privacy.gate import Gate
from medfed.privacy.ledger import Ledger
from medfed.privacy.policy import SitePolicy, rounded_counts
from medfed.wire import encode


def job(**fedkd):
    return Job.model_validate({
        "name": "tiny", "method": "fedkd", "task": "cxr14", "federation": {"sites": ["a"]},
        "networks": {"student": {"name": "mlp"}, "site": {"name": "mlp"}}, "fedkd": fedkd,
    })  # fmt: skip


@pytest.fixture
def gate(tmp_path):
    def make(asked=None, **policy):
        rules = SitePolicy.model_validate(policy)
        return Gate(rules, Ledger(tmp_path / "ledger.jsonl"), site="a", job=asked or job())

    return make


def counts(*numbers, samples=0):
    array = np.array(numbers, np.int64)
    return Opened("1", "2", "3", samples, array, array)


def logits(**changes):
    values = {
        "question": "public", "cases": 4, "levels": 256, "bound": 8.0, "encoding": "bits", "noise": "none",
        "labelled": np.ones(2, bool), "packed": np.zeros(8, np.uint8), "confidence": np.zeros(0, np.uint8),
    }  # fmt: skip
    return LogitsUpload(**{**values, **changes})


NOISE = {"mechanism": "laplace", "scale": 1.0}


@pytest.mark.parametrize(
    ("rule", "asked", "policy"),
    [
        ("label_counts", {}, {}),
        ("label_counts", {"weight_by": "samples"}, {}),
        ("methods", {"weight_by": "uniform"}, {"methods": []}),
        ("largest_bound", {"weight_by": "uniform", "bound": 30.0}, {}),
        ("most_levels", {"weight_by": "uniform", "levels": 256}, {"most_levels": 16}),
        ("most_levels", {"weight_by": "uniform", "levels": 0}, {"most_levels": 16}),
        ("noise_floor", {"weight_by": "uniform"}, {"noise_floor": NOISE}),
        ("noise_floor", {"weight_by": "uniform", "noise": {**NOISE, "scale": 0.5}}, {"noise_floor": NOISE}),
        ("noise_floor", {"weight_by": "uniform", "noise": {**NOISE, "where": "aggregate"}}, {"noise_floor": NOISE}),
        ("noise_floor", {"weight_by": "uniform", "noise": {**NOISE, "mechanism": "gaussian"}}, {"noise_floor": NOISE}),
    ],
)  # fmt: skip
def test_a_job_below_the_floor_is_refused_before_any_work(gate, rule, asked, policy):
    with pytest.raises(GateRefusal, match=f"rule {rule}|privacy. {rule}") as caught:
        gate(job(**asked), **policy).admit()
    assert rule in caught.value.upstream


def test_a_job_that_asks_for_no_more_is_admitted(gate):
    gate(job(weight_by="uniform")).admit()
    gate(job(), label_counts=True).admit()
    gate(job(weight_by="uniform", noise=NOISE), noise_floor=NOISE).admit()


VOTE = Vote("run", 0, {"w": np.zeros(2, np.float32)})


@pytest.mark.parametrize(
    ("rule", "message", "policy"),
    [
        ("label_counts", counts(10, 20), {}),
        ("label_counts", counts(0, 0, samples=10), {}),
        ("small_cell", counts(10, 13), {"label_counts": True}),
        ("small_cell", VoteAnswer(0, 0.5, 13), {}),
        ("kinds", VOTE, {}),
        ("kinds", VOTE, {"kinds": ["vote"]}),  # weights never leave, whatever is allowed
        ("kinds", Trained(1, 1.0, False), {"kinds": ["logits"]}),
        ("most_public_cases", logits(), {"most_public_cases": 3}),
        ("largest_bound", logits(bound=21.0), {}),
        ("most_levels", logits(levels=0), {}),
        ("noise_floor", logits(), {"noise_floor": NOISE}),
        ("noise_floor", RangeAnswer(3.0), {"noise_floor": NOISE}),
    ],
)
def test_a_message_beyond_the_policy_stays_in(gate, tmp_path, rule, message, policy):
    with pytest.raises(GateRefusal) as caught:
        gate(**policy).release(message, b"")
    assert f"rule {rule}:" in caught.value.upstream
    assert not (tmp_path / "ledger.jsonl").exists()


def test_progress_is_told_only_where_the_policy_lists_it(gate):
    assert gate().allows_progress(Progress("train", 1, 2))
    assert not gate(kinds=["logits"]).allows_progress(Progress("train", 1, 2))


def test_counts_are_rounded_to_cells():
    assert rounded_counts([0, 4, 5, 14, 15, 1000], 10) == [0, 0, 10, 10, 20, 1000]
    assert rounded_counts([0, 3], 1) == [0, 3]


def left(gate):
    for number in range(3):
        message = logits(cases=4 + number)
        gate.release(message, encode(message))


def test_what_leaves_is_in_the_ledger_and_the_chain_holds(gate, tmp_path):
    left(gate())
    left(gate())  # after a restart
    rows = list(Ledger(tmp_path / "ledger.jsonl").entries())
    assert len(rows) == 6
    assert rows[0]["shapes"] == {"labelled": [2], "packed": [8], "confidence": [0]}
    assert rows[0]["kind"] == "logits"
    assert rows[0]["bytes"] == len(encode(logits()))


@pytest.mark.parametrize("damage", ["edit", "drop", "swap", "garble"])
def test_a_ledger_that_was_changed_says_where(gate, tmp_path, damage):
    left(gate())
    path = tmp_path / "ledger.jsonl"
    lines = path.read_text().splitlines()
    if damage == "edit":
        lines[1] = json.dumps({**json.loads(lines[1]), "bytes": 1}, sort_keys=True)
    elif damage == "drop":
        del lines[1]
    elif damage == "swap":
        lines[0], lines[1] = lines[1], lines[0]
    else:
        lines[1] = "{"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(CheckpointError, match=r"ledger.jsonl:\d"):
        list(Ledger(path).entries())


def test_a_line_cut_by_a_power_failure_does_not_break_the_ledger(gate, tmp_path):
    left(gate())
    path = tmp_path / "ledger.jsonl"
    path.write_text(path.read_text()[:-20])
    left(gate())
    assert len(list(Ledger(path).entries())) == 5


def test_two_jobs_of_one_site_share_one_chain(tmp_path):
    first, second = Ledger(tmp_path / "ledger.jsonl"), Ledger(tmp_path / "ledger.jsonl")
    for number in range(4):
        (first, second)[number % 2].append({"number": number})
    assert [row["number"] for row in first.entries()] == [0, 1, 2, 3]
