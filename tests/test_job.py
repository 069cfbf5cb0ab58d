"""job.toml is checked once at the door, and the error says what to write instead."""

import json

import pytest

from medfed.errors import ConfigError
from medfed.job import Job, _keys_at

GOOD = """
name = "first"
method = "fedkd"
task = "cxr14"
[federation]
sites = ["site-1", "site-2"]
[networks]
student = {name = "small_cnn"}
site = {name = "densenet", args = {growth_rate = 16}}
"""


def read(tmp_path, text):
    path = tmp_path / "job.toml"
    path.write_text(text)
    return Job.read(path)


def test_a_small_job_gets_every_default(tmp_path):
    job = read(tmp_path, GOOD)
    assert job.networks.of("site-2").name == "densenet"
    assert job.fedkd.weight_by == "positives"
    assert Job.from_json(job.to_json()) == job


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            ("fedkd", "fedkdd", 1),
            "method: 'fedkdd' is not allowed (allowed: fedkd). Did you mean 'fedkd'?",
        ),
        (("[networks]", "[fedkd]\nlevls = 3\n[networks]"), "fedkd.levls: unknown key"),
        (("[networks]", "[fedkd]\nlevls = 3\n[networks]"), "Did you mean 'levels'?"),
        (("[networks]", "[fedkd]\nlevels = '3'\n[networks]"), "fedkd.levels"),
        (("[networks]", "[fedkd]\nlevels = 1\n[networks]"), "carries no information"),
        (
            ("[networks]", "[fedkd]\nquantiser='paper'\nlevels = 0\n[networks]"),
            "needs levels of 2 or more",
        ),
        (("[networks]", "[fedkd.noise]\nmechanism='laplace'\n[networks]"), "goes with scale 0"),
        (('"site-2"', '"site-1"'), "a name stands twice"),
        (("[federation]", "[federation]\nmin_sites = 5"), "min_sites is 5 but only 2"),
        (('name = "first"', ""), "name: is missing"),
        (('name = "first"', 'name = "../up"'), "name: "),
        (
            ("[networks]", "[networks]\nsites = {other = {name='mlp'}}"),
            "networks.sites names ['other']",
        ),
        (("[federation]", "[federation"), "is not valid TOML"),
        (("args = ", "arg = "), "Did you mean 'args'?"),
    ],
)
def test_a_wrong_key_or_value_is_named(tmp_path, change, says):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, GOOD.replace(*change))
    assert says in caught.value.local
    assert "job.toml" in caught.value.local


def test_every_wrong_key_is_listed_at_once(tmp_path):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, GOOD + "\n[training]\nepoch = 3\nlearning_rat = 1.0\n")
    assert len(caught.value.local.splitlines()) == 2


def test_a_missing_file_is_a_clear_error(tmp_path):
    with pytest.raises(ConfigError, match=r"nothing\.toml: cannot be read"):
        Job.read(tmp_path / "nothing.toml")


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"name": {"a": 1}}', "[" * 100_000])
def test_hostile_json_is_a_config_error(text):
    with pytest.raises(ConfigError):
        Job.from_json(text)


def test_the_fingerprint_moves_with_any_value(tmp_path):
    one = read(tmp_path, GOOD)
    two = read(tmp_path, GOOD + "\n[training]\nepochs = 31\n")
    assert one.fingerprint() != two.fingerprint()
    assert one.run_id().startswith("first-")


def test_the_schema_is_json():
    schema = json.loads(json.dumps(Job.model_json_schema(by_alias=True)))
    assert schema["properties"]["method"]["const"] == "fedkd"


def test_known_keys_reach_into_maps():
    assert _keys_at(Job, ("networks", "sites", "site-1")) == {"name", "args"}
