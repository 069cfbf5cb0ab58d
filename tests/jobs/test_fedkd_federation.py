"""The real FedKD roles in NVFlare: the same student as without it, and after a kill."""

import psutil
import pytest

from medfed.errors import MedfedError
from medfed.flare.results import open_run_folder
from medfed.job import Job
from medfed.nvflare_jobs.environments import run_poc, run_sim
from medfed.report import RunFolder
from medfed.roles.run_local import run_local

pytestmark = pytest.mark.federation
ENVIRONMENTS = {"sim": run_sim, "poc": run_poc}
NETWORK = {"name": "small_cnn", "args": {"width": 8}}


def phantoms(alias, first):
    return f'\n[datasets.{alias}]\nkind = "phantom_chest"\ncount = 24\nfirst = {first}\nedge = 16\n'


@pytest.fixture(scope="module")
def tiny():
    return Job.model_validate({
        "name": "tiny", "method": "fedkd", "task": "cxr14", "seed": 3,
        "federation": {"sites": ["site-1", "site-2"], "min_sites": 2},
        "data": {"benchmark": "benchmark"}, "image": {"size": 16},
        "networks": {"student": NETWORK, "site": NETWORK},
        "training": {"epochs": 3, "batch_size": 8}, "distillation": {"epochs": 3, "batch_size": 8},
        "fedkd": {"noise": {"mechanism": "laplace", "scale": 0.3}},
    })  # fmt: skip


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sites")
    shared = phantoms("public", 50_000) + phantoms("benchmark", 70_000)
    privacy = "\n[privacy]\nlabel_counts = true\nsmall_cell = 1\n"
    compute = '\n[compute]\ndevice = "cpu"\n'
    for number, name in enumerate(("site-1", "site-2"), start=1):
        own = f'secret = "of-{name}"\n' + phantoms("train", 1000 * number)
        (folder / f"{name}.toml").write_text(own + shared + privacy + compute)
    (folder / "server.toml").write_text('secret = "of-server"\n' + shared + compute)
    return folder


@pytest.fixture(scope="module")
def expected(tmp_path_factory, tiny, sites):
    path = tmp_path_factory.mktemp("local") / "run"
    run_local(tiny, sites, open_run_folder(path, tiny))
    return student(path)


def student(path):
    return (path / "student" / "model.safetensors").read_bytes()


class KillAtFirst:
    """Kills processes below this one by words of their command line, at a party's first event."""

    def __init__(self, party, *words):
        self.party, self.words, self.killed = party, words, 0

    def __call__(self, event):
        if self.killed or event.party != self.party:
            return
        for process in psutil.Process().children(recursive=True):
            try:
                line = " ".join(process.cmdline())
                if all(word in line for word in self.words):
                    process.kill()
                    self.killed += 1
            except psutil.Error:
                continue


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_student_is_that_of_a_run_without_nvflare(tmp_path, tiny, sites, expected, environment):
    ENVIRONMENTS[environment](tiny, sites, tmp_path / "run", longest_s=150.0)
    assert RunFolder.open(tmp_path / "run").status().outcome == "complete"
    assert student(tmp_path / "run") == expected


def test_a_killed_run_resumes_to_the_same_student(tmp_path, tiny, sites, expected):
    """NVFlare's simulator, which is the server, is killed as soon as a site trains."""
    kill = KillAtFirst("site-1", "simulator.simulator ")
    with pytest.raises(MedfedError, match="--resume"):
        run_sim(tiny, sites, tmp_path / "run", watch=kill, longest_s=150.0)
    assert kill.killed
    assert not (tmp_path / "run" / "student").exists()
    run_sim(tiny, sites, tmp_path / "run", longest_s=150.0)
    assert student(tmp_path / "run") == expected


def test_killed_site_processes_go_on_to_the_same_student(tmp_path, tiny, sites, expected):
    """The processes that host the roles die in training; each site starts its own again."""
    kill = KillAtFirst("site-2", "medfed.flare.site_process")
    run_sim(tiny, sites, tmp_path / "run", watch=kill, longest_s=150.0)
    assert kill.killed
    assert RunFolder.open(tmp_path / "run").status().outcome == "complete"
    assert student(tmp_path / "run") == expected
