import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import Shareable, make_reply

from medfed.errors import Stopped
from medfed.flare.channel import SPOOLED, FlareChannel
from medfed.flare.parcel import KEY, contents, parcel, reply
from medfed.flare.presence import Presence
from medfed.messages import LogitsUpload, Predict, Progress, Refusal, Train, Trained
from medfed.roles.channel import Envelope, Failure
from medfed.wire import encode

TRAINED = encode(Trained(3, 1.5, False))


class Controller:
    """Stands for NVFlare's controller: answers a task from threads, as told for each site."""

    def __init__(self, answers):
        self.answers = answers
        self.asked, self.tasks = {}, []

    def broadcast(self, task, fl_ctx, targets, min_responses):
        assert min_responses == 0
        self.tasks.append(task)
        for site in targets:
            self.asked[site] = contents(task.data, sender="server")
            delay, result = self.answers.get(site, (None, None))
            if delay is not None:
                threading.Timer(delay, self.answer, (task, site, result)).start()

    def answer(self, task, site, result):
        client_task = SimpleNamespace(client=SimpleNamespace(name=site), result=result)
        task.result_received_cb(client_task=client_task, fl_ctx=None)
        assert client_task.result is None

    def cancel_task(self, task, fl_ctx):
        task.completion_status = "cancelled"


@pytest.fixture
def ask(tmp_path):
    def run(
        answers, *, deadline_s=5.0, stop=lambda: False, silence_s=60.0, sites="abc", message=None
    ):
        records = []
        controller = Controller(answers)
        presence = Presence(sites, silence_s=silence_s, join_s=silence_s)
        channel = FlareChannel(
            controller, None, sites, Envelope(records.append, lambda row: None),
            presence=presence, stop=stop, spool=tmp_path / "spool",
        )  # fmt: skip
        found = list(channel.ask(message or Train("run"), sites, phase="p", deadline_s=deadline_s))
        return SimpleNamespace(
            found=found, records=records, controller=controller, spool=tmp_path / "spool"
        )

    return run


def test_answers_come_in_name_order_whoever_is_first(ask):
    done = ask(
        {"c": (0.0, reply(TRAINED)), "b": (0.05, reply(TRAINED)), "a": (0.1, reply(TRAINED))}
    )
    assert done.found == [(site, Trained(3, 1.5, False)) for site in "abc"]


def test_every_site_gets_the_same_bytes(ask):
    done = ask({site: (0.0, reply(TRAINED)) for site in "abc"})
    assert set(done.controller.asked.values()) == {encode(Train("run"))}
    assert [r.site for r in done.records if r.direction == "down"] == ["a", "b", "c"]


def test_a_late_site_is_a_failure_and_the_others_count(ask):
    done = ask({"a": (0.0, reply(TRAINED)), "c": (0.0, reply(TRAINED))}, deadline_s=0.3)
    assert dict(done.found)["b"].reason == "late"
    assert isinstance(dict(done.found)["c"], Trained)
    assert done.controller.tasks[0].completion_status == "cancelled"


def test_a_lost_site_is_noticed_without_a_deadline(ask):
    started = time.monotonic()
    done = ask(
        {"a": (0.0, reply(TRAINED)), "b": (0.0, reply(TRAINED))}, deadline_s=None, silence_s=0.4
    )
    assert dict(done.found)["c"].reason == "dead"
    assert time.monotonic() - started < 3.0


def test_an_answer_after_its_question_was_given_up_harms_nothing(ask):
    done = ask(
        {"a": (0.0, reply(TRAINED)), "b": (0.0, reply(TRAINED)), "c": (0.6, reply(TRAINED))},
        deadline_s=0.3,
    )
    time.sleep(0.5)
    assert dict(done.found)["c"].reason == "late"


def test_an_abort_ends_the_wait(ask):
    asked_to_stop = threading.Event()
    threading.Timer(0.3, asked_to_stop.set).start()
    with pytest.raises(Stopped):
        ask({}, deadline_s=None, stop=asked_to_stop.is_set)


def _logits(packed):
    labelled, unasked = np.ones(2, bool), np.zeros(0, np.uint8)
    values = np.frombuffer(packed, np.uint8)
    return LogitsUpload("public", 1, 4, 1.0, "raw", "none", labelled, values, unasked)


def _forged_nan():
    data = bytearray(TRAINED)
    at = data.index(b"1.5")
    data[at : at + 3] = b"NaN"
    return bytes(data)


HOSTILE = {
    "no bytes": make_reply(ReturnCode.OK),
    "not bytes": Shareable({KEY: np.zeros(3)}),
    "a text": Shareable({KEY: "trained"}),
    "empty": reply(b""),
    "noise": reply(bytes(range(256))),
    "cut off": reply(TRAINED[:-3]),
    "a header of 2**60 bytes": reply((1 << 60).to_bytes(8, "little") + b"{}"),
    "a NaN": reply(_forged_nan()),
    "too large for its kind": reply(encode(Progress("x" * 500, 1, 2)) + b"\0" * (1 << 20)),
    "nothing at all": None,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_is_a_failure_of_that_site_only(ask, name):
    done = ask({"a": (0.0, reply(TRAINED)), "b": (0.0, HOSTILE[name]), "c": (0.0, reply(TRAINED))})
    answer = dict(done.found)["b"]
    assert isinstance(answer, Failure)
    assert answer.reason in ("invalid", "refused")
    assert sum(isinstance(a, Trained) for _, a in done.found) == 2


def test_a_refusal_is_told_in_the_sites_fixed_words(ask):
    done = ask({s: (0.0, reply(encode(Refusal("gate", "site policy rule kinds")))) for s in "abc"})
    assert done.found[0] == ("a", Failure("a", "refused", "gate: site policy rule kinds"))


def test_an_nvflare_return_code_is_a_refusal(ask):
    filtered = make_reply(ReturnCode.TASK_RESULT_FILTER_ERROR)
    done = ask(dict.fromkeys("abc", (0.0, filtered)))
    assert {a.reason for _, a in done.found} == {"refused"}


def test_large_answers_wait_on_disk_and_leave_nothing_behind(ask):
    big = encode(_logits(bytes(SPOOLED + 1)))
    question = Predict("run", "public", "public_bound", 4, 1.0, False)
    answers = {"a": (0.3, reply(big)), "b": (0.0, reply(big)), "c": (0.0, reply(big))}
    done = ask(answers, message=question)
    assert [len(a.packed) for _, a in done.found] == [SPOOLED + 1] * 3
    assert list(done.spool.iterdir()) == []


def test_nobody_is_asked_nothing(ask):
    done = ask({}, sites=())
    assert done.found == []
    assert done.controller.tasks == []


def test_a_parcel_holds_exactly_its_message():
    assert contents(parcel(b"abc"), sender="x") == b"abc"
    assert set(parcel(b"abc")) - {"__headers__"} == {KEY}
