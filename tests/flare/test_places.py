import json

import pytest

from medfed.errors import ConfigError
from medfed.flare.places import LARGEST_JOB, arrived_job, run_folder_of, site_file, state_dir


def test_a_sites_own_file_comes_before_the_kits_and_the_environments(tmp_path):
    local, shared = tmp_path / "local" / "medfed", tmp_path / "shared"
    local.mkdir(parents=True)
    shared.mkdir()
    environment = {"MEDFED_SITE_CONFIG_DIR": str(shared)}
    found = []
    for path in (shared / "site-1.toml", local / "site.toml", local / "site-1.toml"):
        path.touch()
        found.append(site_file(tmp_path, "site-1", environment) == path)
    assert found == [True, True, True]


def test_a_missing_file_is_named_at_the_site_only(tmp_path):
    with pytest.raises(ConfigError) as error:
        site_file(tmp_path, "site-1", {})
    assert str(tmp_path) in error.value.local
    assert str(tmp_path) not in error.value.upstream


@pytest.mark.parametrize("name", ["../site-2", "", "a/b", "x" * 64, "site\n1", ".hidden"])
def test_a_party_name_cannot_leave_its_folder(tmp_path, name):
    with pytest.raises(ConfigError):
        site_file(tmp_path, name, {"MEDFED_SITE_CONFIG_DIR": str(tmp_path)})
    with pytest.raises(ConfigError):
        state_dir(tmp_path, name, {})


def test_state_lies_outside_nvflares_run_folders(tmp_path, job):
    assert state_dir(tmp_path, "site-1", {}) == tmp_path / "medfed_state"
    environment = {"MEDFED_STATE_DIR": str(tmp_path / "state")}
    assert state_dir(tmp_path, "site-1", environment) == tmp_path / "state" / "site-1"
    assert run_folder_of(job, tmp_path, environment) == tmp_path / "state" / "server" / job.run_id()
    named = {**environment, "MEDFED_RUN_FOLDER": str(tmp_path / "run")}
    assert run_folder_of(job, tmp_path, named) == tmp_path / "run"


def test_a_job_arrives_as_it_was_submitted(job):
    assert arrived_job(job.to_json(), job.fingerprint(), method="fedkd") == job


def _with(job, **changes):
    return json.dumps({**json.loads(job.to_json()), **changes})


@pytest.mark.parametrize(
    "hostile",
    [
        None, 7, b"{}", [], {}, "", "{}", "[]", "null", "nan", "{" * 100_000, "[" * 100_000,
        '{"name": "__import__(\'os\')"}', "x" * (LARGEST_JOB + 1),
        '{"name": "a", "name": "b"}',
    ],
)  # fmt: skip
def test_a_hostile_job_text_is_a_configuration_error(job, hostile):
    with pytest.raises(ConfigError):
        arrived_job(hostile, job.fingerprint(), method="fedkd")


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "../../etc"}, {"seed": -1}, {"seed": "1"}, {"threads": 10**9}, {"surprise": 1},
        {"federation": {"sites": ["a/b"]}}, {"federation": {"sites": []}},
        {"training": {"epochs": 1e400}},
        {"networks": {"student": {"name": "cnn", "args": {"x": {}}}, "site": {"name": "cnn"}}},
    ],
)  # fmt: skip
def test_a_hostile_value_in_a_job_is_a_configuration_error(job, changes):
    with pytest.raises(ConfigError):
        arrived_job(_with(job, **changes), job.fingerprint(), method="fedkd")


def test_a_text_that_nvflare_replaced_on_the_way_is_noticed(job):
    with pytest.raises(ConfigError, match="fingerprint"):
        arrived_job(_with(job, task="cxr15"), job.fingerprint(), method="fedkd")


def test_a_class_hosts_only_its_own_method(job):
    with pytest.raises(ConfigError, match="hosts 'fediod'"):
        arrived_job(job.to_json(), job.fingerprint(), method="fediod")
