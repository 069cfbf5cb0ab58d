"""Running a job in NVFlare on one machine: the simulator, and real processes from provisioned kits.

Both give the same run folder as a run without NVFlare. A resume is the same call again: the parties'
state lies in the run folder and outlives every process and NVFlare job id.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from medfed.errors import MedfedError, Stopped
from medfed.flare.places import CONFIG_DIR, RUN_FOLDER, STATE_DIR
from medfed.flare.results import open_run_folder, read_failure
from medfed.job import Job
from medfed.nvflare_jobs.follow import EventReader
from medfed.nvflare_jobs.processes import Family, family
from medfed.report import RunFolder
from medfed.roles.channel import ProgressEvent

__all__ = ["LONGEST_S", "run_poc", "run_sim"]

LONGEST_S = 24 * 3600.0  # a simulation is one person's; a longer one names its own limit
PARTIES = "parties"  # state of every party, inside the run folder
LOGS = "logs"
PATIENCE_S = 180.0  # for all parties to start and register; ten processes importing torch on two cores
POLL_S = 0.25

Watcher = Callable[[ProgressEvent], None]


def run_sim(
    job: Job,
    sites_dir: Path,
    run_folder: Path,
    *,
    watch: Watcher = lambda event: None,
    longest_s: float = LONGEST_S,
    **options: float,
) -> None:
    """Run a job in NVFlare's simulator, one process a site.

    Args:
        job: the checked job.
        sites_dir: holds `NAME.toml` for each site, and `server.toml`.
        run_folder: where records, results and the parties' state go; the same folder resumes.
        watch: told of every step that a party told.
        longest_s: the run is ended after this many seconds.
        options: of the job's recipe, such as `silence_s`.

    Raises:
        MedfedError: the run failed; of the kind and with the text that the server wrote down.
        Stopped: it took longer than `longest_s`.
    """
    from medfed.nvflare_jobs.recipes import export_job

    sites = sorted(job.federation.sites)
    open_run_folder(run_folder, job)  # refuses what could stop the run later, before any process starts
    with _workspace() as workspace, family(_environment(job, sites_dir, run_folder, workspace)) as run:
        exported = export_job(job, workspace / "job", **options)
        simulation = workspace / "sim"
        _write_policy(simulation / "local")
        process = run.start(
            "nvflare.private.fed.app.simulator.simulator",
            # one thread a site: with fewer, NVFlare starts a new process for each task
            [str(exported), "-w", str(simulation), "-c", ",".join(sites), "-t", str(len(sites)),
             "-m", str(len(sites)), "-l", str(_write_log_config(workspace))],
            folder=workspace, log=run_folder / LOGS / "nvflare.log",
        )  # fmt: skip
        try:
            _await(lambda: process.poll() is None, run_folder, watch, longest_s)
        finally:
            run.end()
            _keep_logs(simulation, run_folder / LOGS, ["server", *sites])
        _raise_failure(run_folder, process.returncode)


def run_poc(
    job: Job,
    sites_dir: Path,
    run_folder: Path,
    *,
    watch: Watcher = lambda event: None,
    longest_s: float = LONGEST_S,
    **options: float,
) -> None:
    """Run a job in real processes on this machine: provisioned kits, certificates, TLS on loopback.

    Takes what `run_sim` takes and raises what it raises. Nothing is left running, and nothing is written
    outside the run folder and a temporary folder.
    """
    from medfed.nvflare_jobs.kits import free_port, provision
    from medfed.nvflare_jobs.recipes import export_job
    from medfed.nvflare_jobs.submission import Submission

    sites = sorted(job.federation.sites)
    open_run_folder(run_folder, job)
    with _workspace() as workspace, family(_environment(job, sites_dir, run_folder, workspace)) as run:
        exported = export_job(job, workspace / "job", **options)
        kits = provision(workspace / "kits", sites, port=free_port())
        try:
            for party in ("server", *sites):
                _start_party(run, kits.of(party), party, run_folder / LOGS / "nvflare.log")
            with Submission(kits.admin, exported, sites=sites, patience_s=PATIENCE_S) as submitted:
                _await(submitted.going_on, run_folder, watch, longest_s)
        finally:
            run.end()
            _keep_logs(kits.folder, run_folder / LOGS, ["server", *sites])
        _raise_failure(run_folder, submitted.status)


def _start_party(run: Family, kit: Path, party: str, log: Path) -> None:
    """Start a server or client as its kit's start.sh does, without the shell script that restarts it."""
    kind, name = ("server", "") if party == "server" else ("client", f"uid={party}")
    settings = ["secure_train=true", *filter(None, [name]), "org=medfed", "config_folder=config"]
    shutil.copy(_write_log_config(kit), kit / "local" / "log_config.json")
    run.start(
        f"nvflare.private.fed.app.{kind}.{kind}_train",
        ["-m", str(kit), "-s", f"fed_{kind}.json", "--set", *settings],
        folder=kit, log=log,
    )  # fmt: skip


@contextmanager
def _workspace() -> Iterator[Path]:
    """A temporary folder for NVFlare, which splits its own command lines at spaces."""
    with tempfile.TemporaryDirectory(prefix="medfed-", ignore_cleanup_errors=True) as name:
        if " " in name:
            raise MedfedError(f"{name}: NVFlare cannot work in a folder with a space. Set TMPDIR to one without.")
        yield Path(name)


def _environment(job: Job, sites_dir: Path, run_folder: Path, workspace: Path) -> dict[str, str]:
    threads = str(job.threads)
    (workspace / "tmp").mkdir()
    return {
        CONFIG_DIR: str(sites_dir.absolute()),
        STATE_DIR: str((run_folder / PARTIES).absolute()),
        RUN_FOLDER: str(run_folder.absolute()),
        "TMPDIR": str(workspace / "tmp"),  # what an ended process leaves behind goes with the workspace
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "PYTHONSAFEPATH": "1",  # a checkout as current folder must not shadow the installed package
    }


def _await(alive: Callable[[], bool], run_folder: Path, watch: Watcher, longest_s: float) -> None:
    """Wait until the server role has written down how the run ended, or nobody is left to do so."""
    reader = EventReader(run_folder / "events.jsonl", from_end=True)
    folder = RunFolder.open(run_folder)
    ends = time.monotonic() + longest_s
    while True:
        # NVFlare takes about ten seconds more to end itself; all that counts is on disk by then.
        going_on = alive() and folder.status().outcome == "running"
        for event in reader.new():
            watch(event)
        if not going_on:
            return
        if time.monotonic() > ends:
            raise Stopped(
                f"the run was ended after {longest_s:.0f} s; what is finished is kept. Resume it with --resume."
            )
        time.sleep(POLL_S)


def _write_policy(local: Path) -> None:
    """Seed a simulated workspace with the class allow list that a hospital's kit would have."""
    from nvflare.app_common.default_component_policy import DEFAULT_CLASS_ALLOW_LIST

    from medfed.nvflare_jobs.kits import with_medfed

    local.mkdir(parents=True)
    policy = {"format_version": 2, "class_list_enforcement_mode": "enforce",
              "class_allow_list": list(DEFAULT_CLASS_ALLOW_LIST)}  # fmt: skip
    (local / "resources.json").write_text(json.dumps(with_medfed(policy), indent=1), encoding="utf-8")


def _write_log_config(folder: Path) -> Path:
    """NVFlare's own logging without its console, which all processes of a simulation share."""
    import nvflare.fuel.utils.log_utils as log_utils

    config = json.loads((Path(log_utils.__file__).parent / "log_config.json").read_text(encoding="utf-8"))
    config["handlers"] = {k: v for k, v in config["handlers"].items() if k in ("logFileHandler", "errorFileHandler")}
    config["loggers"]["root"]["handlers"] = list(config["handlers"])
    path = folder / "log_config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def _keep_logs(workspace: Path, logs: Path, parties: list[str]) -> None:
    logs.mkdir(parents=True, exist_ok=True)
    for party in parties:
        found = sorted((workspace / party).rglob("log.txt"))
        with (logs / f"{party}.log").open("ab") as target:
            for source in found:
                target.write(source.read_bytes())


def _raise_failure(run_folder: Path, code: object) -> None:
    failure = read_failure(run_folder)
    if failure is not None:
        raise failure
    if RunFolder.open(run_folder).status().outcome == "running":
        logs = run_folder / LOGS
        raise MedfedError(
            f"NVFlare ended ({code}) before the run was over: {_last_error(logs)} The logs are in {logs}; "
            "resume with --resume."
        )


def _last_error(logs: Path) -> str:
    lines = [
        line for path in sorted(logs.glob("*.log"))
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if " - ERROR - " in line
    ]  # fmt: skip
    return lines[-1][:400] if lines else "no error was logged."
