"""Real federations with stand-in roles: transport, faults and what is left behind."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from medfed.errors import MedfedError, NotEnoughSites, Stopped
from medfed.nvflare_jobs.environments import run_poc, run_sim
from medfed.report import RunFolder

pytestmark = pytest.mark.federation
STAND_IN = Path(__file__).parent.parent / "flare" / "stand_in"
CANARY = "4711"
MARK = "MEDFED_TEST_RUN"  # marks the processes of one test
ENVIRONMENTS = {"sim": run_sim, "poc": run_poc}


@pytest.fixture
def federation(tmp_path, monkeypatch, job):
    """Runs a job in an environment, with stand-in roles that behave as told."""
    sites = tmp_path / "sites"
    sites.mkdir()
    for party in ("server", *job.federation.sites):
        (sites / f"{party}.toml").write_text("{}")
    monkeypatch.setenv("PYTHONPATH", str(STAND_IN))
    monkeypatch.setenv(MARK, str(tmp_path))
    before = set(Path(tempfile.gettempdir()).glob("medfed-*"))
    monkeypatch.chdir(tmp_path)

    def run(environment, behaviour, *, min_sites=1, watch=lambda event: None, **options):
        monkeypatch.setenv("MEDFED_STAND_IN", json.dumps(behaviour))
        federated = job.federation.model_copy(update={"min_sites": min_sites})
        asked = job.model_copy(update={"federation": federated})
        options = {"longest_s": 120.0, **options}
        ENVIRONMENTS[environment](asked, sites, tmp_path / "run", watch=watch, **options)
        return json.loads((tmp_path / "run" / "seen.json").read_text())

    yield run
    assert _nvflare_processes() == []
    assert set(Path(tempfile.gettempdir()).glob("medfed-*")) <= before


def _nvflare_processes(*words):
    found = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
            ours = process.environ().get(MARK) == os.environ.get(MARK)
        except psutil.Error:
            continue
        if not ours:  # another federation may run on this machine
            continue
        if ("nvflare.private" in line or "medfed.flare" in line) and all(w in line for w in words):
            found.append(process)
    return found


class KillAtFirst:
    """Kills processes by words of their command line, when a site tells of its training."""

    def __init__(self, *words):
        self.words, self.done = words, False

    def __call__(self, event):
        if not self.done and event.party == "site-2":
            self.done = True
            victims = _nvflare_processes(*self.words)
            assert victims
            for process in victims:
                process.kill()


def _left_the_sites(run_folder):
    """What left the sites, by digest; a Closed of the stand-ins holds a process id."""
    lines = (run_folder / "disclosures.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [(r["site"], r["kind"], r["phase"], r["sha256"]) for r in rows if r["kind"] != "closed"]


def _run_locally(folder, job, behaviour):
    """The same roles in this process, over the local channel, without NVFlare."""
    script = """
import sys
from pathlib import Path
import medfed_stand_in as roles
from medfed.flare.results import open_run_folder
from medfed.job import Job
from medfed.roles.local import LocalChannel

job, folder = Job.from_json(sys.argv[1]), Path(sys.argv[2])
run, quiet = open_run_folder(folder, job), {"progress": lambda event: None, "stop": lambda: False}
def endpoint(name):
    return roles.site_endpoint(job, {}, name=name, state_dir=folder / "parties" / name, **quiet)
channel = LocalChannel(job.federation.sites, endpoint, roles.envelope_for(run))
roles.server_role(job, channel, site={}, run_folder=run, **quiet).run()
"""
    environment = {**os.environ, "MEDFED_STAND_IN": json.dumps(behaviour)}
    command = [sys.executable, "-c", script, job.to_json(), str(folder)]
    subprocess.run(command, env=environment, check=True, capture_output=True)


def _files_with(folder, text):
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*")
        if path.is_file() and text.encode() in path.read_bytes()
    )  # fmt: skip


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_federation_with_troubled_sites(federation, environment, tmp_path, job):
    """One site's role dies in training; the other cannot read a file, then crashes."""
    told = []
    seen = federation(
        environment,
        {
            "site-1": {"dies": "once"},
            "site-2": {"canary": True, "crash": True},
            "server": {"steps": 3},
        },
        watch=told.append,
    )
    assert seen["train/site-1"] == "trained"  # it went on in a new process
    assert seen["predict/site-1"] == "logits"
    assert seen["bytes/site-1"] == ord("1")
    assert seen["train/site-2"].startswith("refused: bad_file")
    assert seen["predict/site-2"].startswith("refused: unexpected")
    for number in range(3):
        first, again = seen[f"step {number}"]
        assert first == again
        assert all(isinstance(pid, int) for pid in first)

    # The bytes are those of a run without NVFlare in which nothing died.
    _run_locally(tmp_path / "local", job, {"site-2": {"canary": True, "crash": True}})
    assert _left_the_sites(tmp_path / "run") == _left_the_sites(tmp_path / "local")

    # The planted path stays in the site's own log: not in NVFlare's logs, not in any record.
    run = tmp_path / "run"
    assert _files_with(run, CANARY) == ["parties/site-2/site.log"]
    assert RunFolder.open(run).status().outcome == "complete"
    assert {event.party for event in told} == {"server", "site-1"}


def test_a_lost_site_does_not_hold_up_the_others(federation):
    seen = federation(
        "sim",
        {"site-2": {"steps": 1000}},
        watch=KillAtFirst("simulator_worker", "--client site-2"),
        silence_s=8.0,
    )
    assert seen["train/site-1"] == "trained"
    assert seen["train/site-2"].startswith("dead")
    assert seen["predict/site-2"].startswith("dead")


def test_a_killed_job_process_is_named_and_the_next_run_goes_on(federation, tmp_path):
    with pytest.raises(MedfedError, match="site-2: its NVFlare job process died"):
        federation(
            "poc", {"site-2": {"steps": 1000}}, watch=KillAtFirst("worker_process", "site-2")
        )
    assert RunFolder.open(tmp_path / "run").status().outcome == "failed"
    seen = federation("poc", {})
    assert seen["train/site-2"] == "trained"


def test_too_few_sites_end_the_run_with_the_servers_words(federation, tmp_path):
    with pytest.raises(NotEnoughSites, match="1 sites answered train"):
        federation("sim", {"site-2": {"canary": True}}, min_sites=2)
    status = RunFolder.open(tmp_path / "run").status()
    assert (status.outcome, status.reason) == ("failed", "1 sites answered train.")


def test_a_run_that_takes_too_long_is_stopped_and_can_be_resumed(federation, tmp_path):
    started = time.monotonic()
    with pytest.raises(Stopped, match="resume"):
        federation("sim", {"site-1": {"steps": 1000}}, longest_s=10.0)
    assert time.monotonic() - started < 25.0
    assert RunFolder.open(tmp_path / "run").status().outcome == "stopped"


def test_a_killed_server_is_noticed(federation):
    with pytest.raises(MedfedError, match="--resume"):
        federation("sim", {"site-2": {"steps": 1000}}, watch=KillAtFirst("simulator.simulator "))
