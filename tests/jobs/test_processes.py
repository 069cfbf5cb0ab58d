import os
import subprocess
import sys
import time

import psutil
import pytest

from medfed.nvflare_jobs.processes import family

CHILD = """
import os, pathlib, subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
grandchild = subprocess.Popen(sleep, start_new_session=True)
pathlib.Path("pids").write_text(f"{os.getpid()} {grandchild.pid}")
time.sleep(60)
"""


def _wait_for(path):
    ends = time.monotonic() + 10
    while not (path.exists() and " " in path.read_text()):
        assert time.monotonic() < ends
        time.sleep(0.05)
    return [int(pid) for pid in path.read_text().split()]


def _start(processes, folder):
    (folder / "child.py").write_text(CHILD)
    process = processes.start("child", [], folder=folder, log=folder / "log")
    return process, _wait_for(folder / "pids")


def _alive(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_grandchild_in_a_session_of_its_own_ends_too(tmp_path):
    with family({}) as processes:
        _, pids = _start(processes, tmp_path)
        assert all(map(_alive, pids))
    assert not any(map(_alive, pids))


def test_an_orphan_ends_too(tmp_path):
    with family({}) as processes:
        child, (_, orphan) = _start(processes, tmp_path)
        child.kill()
        child.wait()
        assert _alive(orphan)
    assert not _alive(orphan)


@pytest.mark.parametrize("reason", [KeyboardInterrupt, RuntimeError])
def test_everything_ends_whatever_the_reason(tmp_path, reason):
    def interrupted():
        with family({}) as processes:
            pids.extend(_start(processes, tmp_path)[1])
            raise reason

    pids = []
    with pytest.raises(reason):
        interrupted()
    assert len(pids) == 2
    assert not any(map(_alive, pids))


def test_other_peoples_processes_are_left_alone(tmp_path):
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        with family({}) as processes:
            _start(processes, tmp_path)
        assert _alive(stranger.pid)
        assert _alive(os.getpid())
    finally:
        stranger.kill()
        stranger.wait()


def test_a_child_gets_the_environment_and_its_prints_go_to_the_log(tmp_path):
    (tmp_path / "child.py").write_text("import os; print(os.environ['GIVEN'])")
    with family({"GIVEN": "something"}) as processes:
        processes.start("child", [], folder=tmp_path, log=tmp_path / "logs" / "log").wait()
    assert (tmp_path / "logs" / "log").read_text() == "something\n"


def test_a_killed_parent_leaves_nobody_behind(tmp_path):
    (tmp_path / "child.py").write_text(CHILD)
    script = f"""
import time
from pathlib import Path
from medfed.nvflare_jobs.processes import family
folder = Path({str(tmp_path)!r})
with family({{}}) as processes:
    processes.start("child", [], folder=folder, log=folder / "log")
    time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", script])
    pids = _wait_for(tmp_path / "pids")
    parent.kill()
    parent.wait()
    ends = time.monotonic() + 15
    while any(map(_alive, pids)):
        assert time.monotonic() < ends
        time.sleep(0.1)
