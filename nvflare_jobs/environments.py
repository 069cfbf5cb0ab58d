"""Running a job in NVFlare on one machine: the simulator, and real processes with their own kits.

Both give the same run folder as a run without NVFlare. A resume is the same call again: the state
of every party lies in the run folder and outlives every process and NVFlare job id.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from medfed.errors import ConfigError, MedfedError, Stopped
from medfed.flare.places import CONFIG_DIR, ENVIRONMENT, RUN_FOLDER, STATE_DIR
from medfed.flare.results import open_run_folder, read_failure, write_failure
from medfed.job import Job
from medfed.nvflare_jobs.follow import EventReader
from medfed.nvflare_jobs.logs import (
    configure_logs,
    job_process_that_died,
    keep_logs,
    last_error,
    set_earlier_logs_aside,
)
from medfed.nvflare_jobs.processes import Family, family
from medfed.report import RunFolder
from medfed.roles.channel import ProgressEvent

__all__ = ["LOGS", "LONGEST_S", "PARTIES", "run_poc", "run_sim"]

LONGEST_S = 24 * 3600.0  # one person's run on one machine; a longer one names its own limit
PATIENCE_S = (
    180.0  # for all parties to start and register: ten of them on two cores take one minute
)
PARTIES = "parties"  # state of every party, inside the run folder
LOGS = "logs"  # logs of every party, inside the run folder
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
    with _run(job, sites_dir, run_folder, "sim") as (workspace, processes):
        simulation = workspace / "sim"
        _write_policy(simulation / "local")
        exported = export_job(job, workspace / "job", **options)
        process = processes.start(
            "nvflare.private.fed.app.simulator.simulator",
            # One thread a site: with fewer, NVFlare starts a new process for each task.
            [str(exported), "-w", str(simulation), "-c", ",".join(sites), "-t", str(len(sites)),
             "-m", str(len(sites)), "-l", str(configure_logs(workspace))],
            folder=workspace, log=run_folder / LOGS / "nvflare.log",
        )  # fmt: skip
        try:
            _await(lambda: process.poll() is None, run_folder, watch, longest_s)
        finally:
            processes.end()
            keep_logs(simulation, run_folder / LOGS, ["server", *sites])
        _raise_failure(run_folder, f"exit code {process.returncode}")


def run_poc(
    job: Job,
    sites_dir: Path,
    run_folder: Path,
    *,
    watch: Watcher = lambda event: None,
    longest_s: float = LONGEST_S,
    **options: float,
) -> None:
    """Run a job in real processes on this machine: own kits, certificates, TLS on loopback.

    Takes what `run_sim` takes and raises what it raises. Nothing is left running, and nothing is
    written outside the run folder and a temporary folder.
    """
    from medfed.nvflare_jobs.kits import free_port, provision
    from medfed.nvflare_jobs.recipes import export_job
    from medfed.nvflare_jobs.submission import Submission

    sites = sorted(job.federation.sites)
    with _run(job, sites_dir, run_folder, "poc") as (workspace, processes):
        exported = export_job(job, workspace / "job", **options)
        kits = provision(workspace / "kits", sites, port=free_port())
        try:
            for party in ("server", *sites):
                _start_party(processes, kits.of(party), party, run_folder / LOGS / "nvflare.log")
            with Submission(kits.admin, exported, sites=sites, patience_s=PATIENCE_S) as submitted:
                _await(submitted.going_on, run_folder, watch, longest_s)
        finally:
            processes.end()
            keep_logs(kits.folder, run_folder / LOGS, ["server", *sites])
        _raise_failure(run_folder, submitted.status)


@contextmanager
def _run(job: Job, sites_dir: Path, run_folder: Path, name: str) -> Iterator[tuple[Path, Family]]:
    """A temporary folder for NVFlare, and the processes that end with this, whatever ends it."""
    open_run_folder(run_folder, job)  # refuses now what could stop the run after hours
    set_earlier_logs_aside(run_folder / LOGS)
    with tempfile.TemporaryDirectory(prefix="medfed-", ignore_cleanup_errors=True) as scratch:
        if " " in scratch:  # NVFlare splits its own command lines at spaces
            raise ConfigError(
                f"{scratch}: NVFlare cannot work in a folder with a space. Set TMPDIR."
            )
        workspace = Path(scratch)
        (workspace / "tmp").mkdir()
        variables = _environment(job, sites_dir, run_folder, workspace / "tmp")
        with family({**variables, ENVIRONMENT: name}) as processes:
            try:
                yield workspace, processes
            except (KeyboardInterrupt, Stopped) as error:
                processes.end()  # or the server could still write after us
                if read_failure(run_folder) is None:
                    write_failure(run_folder, Stopped(str(error) or "the run was interrupted."))
                raise


def _environment(job: Job, sites_dir: Path, run_folder: Path, scratch: Path) -> dict[str, str]:
    threads = str(job.threads)
    return {
        CONFIG_DIR: str(sites_dir.absolute()),
        STATE_DIR: str((run_folder / PARTIES).absolute()),
        RUN_FOLDER: str(run_folder.absolute()),
        "TMPDIR": str(scratch),  # what an ended process leaves behind goes with the workspace
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "PYTHONSAFEPATH": "1",  # a checkout as current folder must not shadow the package
    }


def _start_party(processes: Family, kit: Path, party: str, log: Path) -> None:
    """Start a party as its kit's start.sh does, without the shell script that restarts it."""
    kind = "server" if party == "server" else "client"
    uid = [] if kind == "server" else [f"uid={party}"]
    configure_logs(kit / "local")
    processes.start(
        f"nvflare.private.fed.app.{kind}.{kind}_train",
        ["-m", str(kit), "-s", f"fed_{kind}.json", "--set",
         "secure_train=true", *uid, "org=medfed", "config_folder=config"],
        folder=kit, log=log,
    )  # fmt: skip


def _await(alive: Callable[[], bool], run_folder: Path, watch: Watcher, longest_s: float) -> None:
    """Wait until the server role has noted how the run ended, or nobody is left to do so."""
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
            raise Stopped(f"the run was ended after {longest_s:.0f} s; resume it with --resume.")
        time.sleep(POLL_S)


def _write_policy(local: Path) -> None:
    """Seed a simulated workspace with the class allow list that a hospital's kit would have."""
    from nvflare.app_common.default_component_policy import DEFAULT_CLASS_ALLOW_LIST

    from medfed.nvflare_jobs.kits import with_medfed

    local.mkdir(parents=True)
    policy = {
        "format_version": 2,
        "class_list_enforcement_mode": "enforce",
        "class_allow_list": list(DEFAULT_CLASS_ALLOW_LIST),
    }
    text = json.dumps(with_medfed(policy), indent=1)
    (local / "resources.json").write_text(text, encoding="utf-8")


def _raise_failure(run_folder: Path, ended: str) -> None:
    """Raise what ended a run that did not end well, in words that name the cause."""
    failure, logs = read_failure(run_folder), run_folder / LOGS
    if failure is None and RunFolder.open(run_folder).status().outcome != "running":
        return
    died = job_process_that_died(logs)
    if died and (failure is None or isinstance(failure, Stopped)):
        failure = MedfedError(
            f"{died}: its NVFlare job process died, and NVFlare then ends the whole job. What is "
            f"finished is kept: run again with --resume. The logs are in {logs}."
        )
    elif failure is None:
        failure = MedfedError(
            f"NVFlare ended ({ended}) before the run was over: {last_error(logs)}. The logs are in "
            f"{logs}; run again with --resume."
        )
    write_failure(run_folder, failure)
    raise failure
