"""Tiny federations on phantoms: two or three sites, one image of 16 pixels, two epochs."""

import json
import shutil
from pathlib import Path

import pytest

from medfed.data import Site
from medfed.flare.results import toml_text
from medfed.job import Job
from medfed.report import RunFolder
from medfed.roles.local import LocalChannel
from medfed.roles.registry import envelope_for, server_role, site_endpoint
from medfed.roles.run_local import run_local

PRIVACY = "\n[privacy]\nlabel_counts = true\nsmall_cell = 1\n"
NETWORK = {"name": "small_cnn", "args": {"width": 8}}


def phantoms(alias, first, count=24):
    return f'\n[datasets.{alias}]\nkind = "phantom_chest"\ncount = {count}\nfirst = {first}\nedge = 16\n'


SHARED = phantoms("public", 50_000) + phantoms("benchmark", 70_000)


class Federation:
    """A folder of site.toml files, and runs of jobs on it."""

    def __init__(self, folder: Path, names=("site-1", "site-2")):
        self.folder, self.names = folder, names
        self.sites = folder / "sites"
        self.sites.mkdir(parents=True)
        for number, name in enumerate(names):
            self.write(name, phantoms("train", 1000 * (number + 1)) + SHARED + PRIVACY)
        self.write("server", SHARED)

    def write(self, party, text, secret=None):
        secret = f"secret-{party}" if secret is None else secret
        compute = '\n[compute]\ndevice = "cpu"\n'
        (self.sites / f"{party}.toml").write_text(f'secret = "{secret}"\n{text}{compute}')

    def job(self, **changes):
        """The tiny job; a table that is given is laid over the table that stands there."""
        values = {
            "name": "tiny",
            "method": "fedkd",
            "task": "cxr14",
            "seed": 3,
            "federation": {"sites": list(self.names)},
            "data": {"benchmark": "benchmark"},
            "image": {"size": 16},
            "networks": {"student": NETWORK, "site": NETWORK},
            "training": {"epochs": 2, "batch_size": 8},
            "distillation": {"epochs": 2, "batch_size": 8},
        }
        for key, value in changes.items():
            values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
        return Job.model_validate(values)

    def open(self, job, name="run"):
        path = self.folder / name
        text = toml_text(json.loads(job.to_json()))
        return RunFolder.create(path, text, resume=(path / "job.toml").exists())

    def run(self, job=None, name="run", **hooks):
        """A whole local run; gives its folder."""
        job = job or self.job()
        folder = self.open(job, name)
        run_local(job, self.sites, folder, **hooks)
        return folder

    def endpoint(self, site, job=None, name="run", stop=lambda: False):
        """One site's end of a run, as the local run makes it."""
        return site_endpoint(
            job or self.job(), Site.read(self.sites / f"{site}.toml"), name=site,
            state_dir=self.folder / name / "parties" / site, progress=lambda event: None, stop=stop,
        )  # fmt: skip

    def run_through(self, wrap, job=None, name="run", trained=None):
        """A run whose sites' answers go through `wrap(site, endpoint)`.

        `trained` is a finished run of the same job, whose sites need not train again.
        """
        job = job or self.job()
        folder = self.open(job, name)
        if trained is not None:
            shutil.copytree(trained.path / "parties", folder.path / "parties")
        channel = LocalChannel(
            job.federation.sites, lambda site: wrap(site, self.endpoint(site, job, name)),
            envelope_for(folder),
        )  # fmt: skip
        self.serve(job, channel, folder)
        return folder

    def serve(self, job, channel, folder):
        server_role(
            job, channel, site=Site.read(self.sites / "server.toml"), run_folder=folder,
            progress=lambda event: None, stop=lambda: False, environment="local",
        ).run()  # fmt: skip


def student_bytes(folder):
    return (folder.path / "student" / "model.safetensors").read_bytes()


def lines(folder, name):
    return [json.loads(line) for line in (folder.path / name).read_text().splitlines()]


@pytest.fixture
def quick(monkeypatch):
    """Runs without drawing a report, which takes longer than the tiny runs themselves."""
    monkeypatch.setattr("medfed.roles.fedkd_server.build_report", lambda path: None)
    monkeypatch.setattr("medfed.roles.scoring.RESAMPLES", 20)


@pytest.fixture
def federation(tmp_path):
    return Federation(tmp_path)


@pytest.fixture
def three(tmp_path):
    return Federation(tmp_path, ("site-1", "site-2", "site-3"))


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    """One uninterrupted run of the tiny job."""
    return Federation(tmp_path_factory.mktemp("reference")).run()


@pytest.fixture(scope="session")
def alone(tmp_path_factory):
    """A run of the tiny job in which the second site has no data."""
    federation = Federation(tmp_path_factory.mktemp("alone"))
    federation.write("site-2", "")
    return federation.run()


@pytest.fixture
def helpers(request):
    """Functions of this file; tests cannot import a conftest."""
    from types import SimpleNamespace

    return SimpleNamespace(
        student=student_bytes, lines=lines, phantoms=phantoms, SHARED=SHARED, PRIVACY=PRIVACY,
        Federation=Federation, alone=lambda: request.getfixturevalue("alone"),
    )  # fmt: skip
