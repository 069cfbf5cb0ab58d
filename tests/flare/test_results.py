import json
import tomllib

import pytest

from medfed.errors import NotEnoughSites, RunFolderError, Stopped
from medfed.flare.hosting import ProcessLost
from medfed.flare.results import (
    offer_results,
    open_run_folder,
    read_failure,
    toml_text,
    write_failure,
)
from medfed.job import Job


def test_a_job_survives_the_way_through_toml(job, tmp_path):
    odd = job.model_copy(
        update={
            "networks": job.networks.model_copy(update={"sites": {"site-1": job.networks.site}})
        }
    )
    (tmp_path / "job.toml").write_text(toml_text(json.loads(odd.to_json())))
    assert Job.read(tmp_path / "job.toml").fingerprint() == odd.fingerprint()


def test_odd_names_and_texts_survive_toml():
    values = {"a.b c": {"x": 'say "hi"\n', "list": [1, 2.5, True]}, "n": 1e-05}
    assert tomllib.loads(toml_text(values)) == values


def test_a_run_folder_is_found_again_but_not_by_another_job(job, tmp_path):
    open_run_folder(tmp_path / "run", job)
    open_run_folder(tmp_path / "run", job)
    with pytest.raises(RunFolderError, match="another job"):
        open_run_folder(tmp_path / "run", job.model_copy(update={"seed": 1}))


@pytest.mark.parametrize("kind", [NotEnoughSites, Stopped, ProcessLost, RunFolderError])
def test_a_failure_comes_back_as_the_kind_it_was(job, tmp_path, kind):
    folder = open_run_folder(tmp_path, job)
    write_failure(tmp_path, kind("what went wrong"))
    found = read_failure(tmp_path)
    assert type(found) is kind
    assert found.local == "what went wrong"
    assert folder.status().outcome == ("stopped" if kind is Stopped else "failed")
    open_run_folder(tmp_path, job)
    assert read_failure(tmp_path) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"code": 1}', "\0"])
def test_a_damaged_failure_is_none(tmp_path, text):
    (tmp_path / "failure.json").write_text(text)
    assert read_failure(tmp_path) is None


def test_sites_states_are_not_offered_for_download(job, tmp_path):
    run, offered = tmp_path / "run", tmp_path / "nvflare"
    open_run_folder(run, job)
    for path in ("parties/site-1/answers/a.bin", "logs/site-1.log", "student/weights.safetensors"):
        (run / path).parent.mkdir(parents=True, exist_ok=True)
        (run / path).write_text("x")
    offer_results(run, offered)
    names = {
        str(p.relative_to(offered / "medfed_results")) for p in offered.rglob("*") if p.is_file()
    }
    assert "student/weights.safetensors" in names
    assert "job.toml" in names
    assert not any(name.startswith(("parties", "logs")) for name in names)
