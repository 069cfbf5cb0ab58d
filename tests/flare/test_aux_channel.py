import time

import pytest
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.shareable import make_reply

from medfed.errors import Stopped
from medfed.flare.aux_channel import AuxChannel, Pace
from medfed.flare.parcel import reply
from medfed.messages import Closed, Train
from medfed.roles.channel import Envelope, Failure
from medfed.wire import encode


class Engine:
    def __init__(self):
        self.gone, self.asked, self.timeouts = set(), [], []

    def send_aux_request(self, targets, topic, request, timeout, fl_ctx, optional):
        self.asked.append(targets)
        self.timeouts.append(timeout)
        lost = make_reply(ReturnCode.COMMUNICATION_ERROR)
        return {t: lost if t in self.gone else reply(encode(Closed(1))) for t in targets}


@pytest.fixture
def engine():
    return Engine()


@pytest.fixture
def channel(engine):
    return AuxChannel(
        engine, None, "ab", Envelope(lambda r: None, lambda r: None), stop=lambda: False
    )


def _ask(channel):
    return dict(channel.ask(Train("run"), channel.sites, phase="step", deadline_s=30.0))


def test_the_deadline_follows_the_pace():
    pace = Pace(floor_s=5.0, factor=10.0)
    assert pace.limit(60.0) == 60.0
    for seconds in (0.1, 0.2, 0.3):
        pace.add(seconds)
    assert pace.limit(60.0) == 5.0
    for seconds in [2.0] * 4:
        pace.add(seconds)
    assert pace.limit(60.0) == 20.0
    assert pace.limit(3.0) == 3.0


def test_the_channel_uses_the_pace(channel, engine):
    _ask(channel)
    _ask(channel)
    assert engine.timeouts == [30.0, 5.0]


def test_a_silent_site_is_left_alone_and_may_come_back(channel, engine):
    engine.gone = {"b"}
    for _ in range(channel.strikes):
        assert _ask(channel)["b"].reason == "late"
    asked_before = len(engine.asked)
    for _ in range(channel.retry_every - channel.strikes - 1):
        answers = _ask(channel)
        assert isinstance(answers["a"], Closed)
        assert answers["b"].reason == "late"
    assert all(targets == ["a"] for targets in engine.asked[asked_before:])
    engine.gone = set()
    assert isinstance(_ask(channel)["b"], Closed)
    assert isinstance(_ask(channel)["b"], Closed)


def test_what_is_no_message_is_invalid(channel, engine):
    engine.send_aux_request = lambda **k: {"a": make_reply(ReturnCode.OK), "b": reply(b"?")}
    assert {a.reason for a in _ask(channel).values()} == {"invalid"}


def test_no_answer_at_all_is_late(channel, engine):
    engine.send_aux_request = lambda **k: None
    assert all(isinstance(a, Failure) and a.reason == "late" for a in _ask(channel).values())


def test_an_abort_is_heeded():
    channel = AuxChannel(
        Engine(), None, "a", Envelope(lambda r: None, lambda r: None), stop=lambda: True
    )
    started = time.monotonic()
    with pytest.raises(Stopped):
        _ask(channel)
    assert time.monotonic() - started < 1.0
