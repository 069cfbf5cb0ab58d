from types import SimpleNamespace

import pytest
from nvflare.apis.fl_constant import ReturnCode
from nvflare.widgets.info_collector import GroupInfoCollector

from medfed.errors import ConfigError
from medfed.flare.controllers import FedKDController
from medfed.flare.parcel import PROGRESS_TOPIC, parcel
from medfed.messages import Progress, Trained
from medfed.wire import encode


@pytest.fixture
def controller(job):
    return FedKDController(job.to_json(), job.fingerprint())


def _from(site):
    peer = SimpleNamespace(get_identity_name=lambda: site)
    return SimpleNamespace(get_peer_context=lambda: peer)


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), "45", None, True, [45]])
def test_a_hostile_time_is_refused(job, seconds):
    with pytest.raises(ConfigError):
        FedKDController(job.to_json(), job.fingerprint(), silence_s=seconds)


def test_a_hostile_job_is_refused(job):
    with pytest.raises(ConfigError):
        FedKDController(job.to_json(), "0" * 16)


def test_progress_is_written_down_for_sites_of_the_job_only(controller):
    told = []
    controller._tell = told.append
    for site in ("site-1", "stranger", "../x"):
        controller._hear_progress(
            PROGRESS_TOPIC, parcel(encode(Progress("train", 1, 9))), _from(site)
        )
    assert [(e.party, e.phase, e.done) for e in told] == [("site-1", "train", 1)]


@pytest.mark.parametrize("data", [b"", b"junk", encode(Trained(1, 1.0, False)), bytes(1 << 17)])
def test_forged_progress_is_dropped(controller, data):
    controller._tell = lambda event: pytest.fail("must not be passed on")
    answer = controller._hear_progress(PROGRESS_TOPIC, parcel(data), _from("site-1"))
    assert answer.get_return_code() == ReturnCode.BAD_REQUEST_DATA


def test_an_administrator_can_ask_how_far_the_run_is(controller, job):
    collector = GroupInfoCollector()
    controller._latest["site-1"] = "train 3/9"
    controller._answer_stats("", SimpleNamespace(get_prop=lambda *a, **k: collector))
    assert collector.info["medfed"] == {"run": job.run_id(), "site-1": "train 3/9"}


def test_a_late_result_is_dropped(controller):
    client = SimpleNamespace(name="site-1")
    controller.process_result_of_unknown_task(client, "medfed_train", "1", None, None)
