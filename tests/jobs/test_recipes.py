import importlib
import json

import pytest

from medfed.errors import ConfigError
from medfed.nvflare_jobs.kits import ALLOWED
from medfed.nvflare_jobs.recipes import RECIPES, export_job, recipe_of
from medfed.roles.registry import METHODS


def _components(value):
    """Every class that a configuration names, with its arguments."""
    if isinstance(value, dict):
        if "path" in value:
            yield value["path"], value.get("args", {})
        for item in value.values():
            yield from _components(item)
    elif isinstance(value, list):
        for item in value:
            yield from _components(item)


@pytest.fixture
def exported(job, tmp_path):
    return export_job(job, tmp_path)


def _configs(exported):
    return [json.loads(path.read_text()) for path in sorted(exported.rglob("config_fed_*.json"))]


def test_a_job_holds_json_only(exported):
    files = [path for path in exported.rglob("*") if path.is_file()]
    assert files
    assert {path.suffix for path in files} == {".json"}
    assert not list(exported.rglob("custom"))


def test_a_job_names_only_what_a_hospital_allows(exported):
    named = [path for config in _configs(exported) for path, _ in _components(config)]
    assert len(named) == 3
    assert all(path.startswith(ALLOWED) for path in named)


def test_what_a_job_names_can_be_built_from_what_it_says(exported, job):
    for config in _configs(exported):
        for path, arguments in _components(config):
            module, _, name = path.rpartition(".")
            assert all(isinstance(value, str | int | float) for value in arguments.values())
            built = getattr(importlib.import_module(module), name)(**arguments)
            assert built._checked == job


def test_a_job_goes_to_the_sites_it_names_and_no_others(exported, job):
    meta = json.loads((exported / "meta.json").read_text())
    deployed = sorted(site for sites in meta["deploy_map"].values() for site in sites)
    assert deployed == ["server", *job.federation.sites]
    assert meta["min_clients"] == job.federation.min_sites


def test_an_export_replaces_an_earlier_one(job, tmp_path):
    export_job(job, tmp_path)
    changed = job.model_copy(update={"seed": 5})
    for config in _configs(export_job(changed, tmp_path)):
        for _, arguments in _components(config):
            assert arguments["fingerprint"] == changed.fingerprint()


def test_an_export_does_not_overwrite_what_is_not_one(job, tmp_path):
    (tmp_path / job.name).mkdir()
    (tmp_path / job.name / "thesis.docx").touch()
    with pytest.raises(ConfigError, match="could not be exported"):
        export_job(job, tmp_path)
    assert (tmp_path / job.name / "thesis.docx").exists()


def test_a_secret_reference_in_a_job_is_refused(job, tmp_path):
    network = job.networks.site.model_copy(update={"args": {"x": "${secret:PASSWORD}"}})
    stealing = job.model_copy(
        update={"networks": job.networks.model_copy(update={"site": network})}
    )
    with pytest.raises(ConfigError, match="NVFlare would replace"):
        recipe_of(stealing)


def test_every_method_has_a_recipe():
    assert set(RECIPES) == set(METHODS)
