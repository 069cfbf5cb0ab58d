from medfed.flare.presence import Presence
from medfed.flare.progress import Throttle
from medfed.roles.channel import ProgressEvent


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_site_has_longer_to_join_than_to_be_silent():
    clock = Clock()
    presence = Presence(["a", "b"], silence_s=10, join_s=100, clock=clock)
    presence.heard("a")
    clock.now = 11
    assert presence.lost("a")
    assert not presence.lost("b")
    clock.now = 101
    assert presence.lost("b")


def test_a_lost_site_comes_back_when_it_is_heard():
    clock = Clock()
    presence = Presence(["a"], silence_s=10, join_s=10, clock=clock)
    clock.now = 50
    presence.heard("a")
    assert not presence.lost("a")


def test_a_name_that_nobody_expects_is_ignored():
    Presence(["a"], silence_s=1, join_s=1).heard("../z")


def _passed(events, **options):
    clock, passed = Clock(), []
    throttle = Throttle(passed.append, interval_s=1.0, clock=clock, **options)
    for time, event in events:
        clock.now = time
        throttle(event)
    return passed


def test_first_and_last_steps_always_pass():
    events = [(i / 100, ProgressEvent("a", "train", i, 50)) for i in range(1, 51)]
    assert [e.done for e in _passed(events)] == [1, 50]


def test_a_flood_of_last_steps_does_not():
    events = [(0.0, ProgressEvent("a", "train", 5, 5))] * 1000
    assert len(_passed(events)) == 1


def test_a_flood_of_phases_does_not_either():
    events = [(0.0, ProgressEvent("a", f"phase {i}", 1, 1)) for i in range(1000)]
    events += [(0.0, ProgressEvent("b", "train", 1, 1))]
    passed = _passed(events, phases=8)
    assert len(passed) == 9
    assert passed[-1].party == "b"
