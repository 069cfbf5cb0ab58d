import json

import pytest

from medfed.nvflare_jobs.kits import ALLOWED, free_port, provision, with_medfed


def test_medfed_is_added_once_and_the_rest_stays():
    before = {
        "class_allow_list": ["a.B"],
        "client": {"retry_timeout": 3},
        "allow_log_streaming": True,
    }
    after = with_medfed(before)
    assert after == {
        "class_allow_list": ["a.B", ALLOWED],
        "client": {"retry_timeout": 3},
        "allow_log_streaming": False,
    }
    assert with_medfed(after) == after
    assert before["class_allow_list"] == ["a.B"]


@pytest.fixture(scope="module")
def kits(tmp_path_factory):
    return provision(tmp_path_factory.mktemp("kits"), ["site-1", "hospital_b"], port=free_port())


@pytest.mark.parametrize("party", ["server", "site-1", "hospital_b"])
def test_a_kit_allows_medfed_and_keeps_logs_at_home(kits, party):
    resources = json.loads((kits.of(party) / "local" / "resources.json.default").read_text())
    assert ALLOWED in resources["class_allow_list"]
    assert resources["allow_log_streaming"] is False
    assert resources["class_list_enforcement_mode"] == "enforce"


def test_the_administrators_kit_can_log_in(kits):
    assert {path.name for path in (kits.admin / "startup").iterdir()} >= {
        "client.crt",
        "client.key",
        "rootCA.pem",
    }
