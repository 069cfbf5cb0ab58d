"""The role's process, for real, with stand-in roles."""

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import psutil
import pytest

from medfed.errors import Stopped
from medfed.flare.hosting import HostedRole, ProcessLost, Setup
from medfed.messages import Close, Closed, Open, Opened, Predict, Progress, Refusal, Train, Trained
from medfed.wire import decode, encode

STAND_IN = Path(__file__).parent / "stand_in"
NONE = np.zeros((0, 32), np.uint8)
OPEN = encode(Open("run", "fedkd", "0", "job", "pipeline", "words", NONE, NONE))


@pytest.fixture
def host(job, tmp_path, monkeypatch):
    made = []

    def make(behaviour=None, *, stop=lambda: False):
        monkeypatch.setenv("PYTHONPATH", str(STAND_IN))
        monkeypatch.setenv("MEDFED_STAND_IN", json.dumps({"site-1": behaviour or {}}))
        (tmp_path / "site-1.toml").write_text("{}")
        (tmp_path / "state").mkdir(exist_ok=True)
        setup = Setup(
            job.to_json(), "site-1", str(tmp_path / "site-1.toml"), str(tmp_path / "state"), 1
        )
        told = []
        role = HostedRole(setup, progress=told.append, stop=stop)
        made.append(role)
        return role, told

    yield make
    for role in made:
        role.close()


def _ask(role, message):
    return decode(
        role.handle(message if isinstance(message, bytes) else encode(message)), sender="site-1"
    )


def test_questions_are_answered_and_prints_break_nothing(host, tmp_path):
    role, told = host()
    assert isinstance(_ask(role, OPEN), Opened)
    assert isinstance(_ask(role, Train("run")), Trained)
    assert [decode(t, sender="x") for t in told][-1] == Progress("train", 4, 4)
    assert "a library that prints" in (tmp_path / "state" / "process.log").read_text()


def test_a_killed_role_goes_on_in_a_new_process(host):
    role, _ = host({"dies": "once"})
    _ask(role, OPEN)
    assert isinstance(_ask(role, Train("run")), Trained)


def test_a_role_that_dies_again_is_given_up_but_not_for_good(host):
    role, _ = host({"dies": "always"})
    _ask(role, OPEN)
    with pytest.raises(ProcessLost):
        _ask(role, Train("run"))
    assert isinstance(_ask(role, Close("run", "complete")), Closed)


def test_a_role_that_died_between_two_questions_is_started_again(host):
    role, _ = host()
    first = _ask(role, OPEN) and _ask(role, Close("run", "one")).messages_sent
    psutil.Process(first).kill()
    psutil.wait_procs([psutil.Process(first)] if psutil.pid_exists(first) else [], timeout=3)
    second = _ask(role, Close("run", "two")).messages_sent
    assert first != second


def test_an_abort_reaches_the_role(host):
    asked = threading.Event()
    role, _ = host({"steps": 1000}, stop=asked.is_set)
    _ask(role, OPEN)
    threading.Timer(0.5, asked.set).start()
    started = time.monotonic()
    answer = _ask(role, Train("run"))
    assert isinstance(answer, Refusal)
    assert answer.code == "stopped"
    assert time.monotonic() - started < 5.0


def test_a_role_that_does_not_heed_an_abort_is_ended(host, monkeypatch):
    monkeypatch.setattr("medfed.flare.hosting.STOP_S", 0.5)
    asked = threading.Event()
    role, _ = host(stop=asked.is_set)
    pid = _ask(role, OPEN) and _ask(role, Close("run", "one")).messages_sent
    psutil.Process(pid).suspend()
    asked.set()
    with pytest.raises(Stopped):
        _ask(role, Train("run"))
    assert not psutil.pid_exists(pid)


def test_a_damaged_site_file_is_a_refusal(host, tmp_path):
    role, _ = host()
    (tmp_path / "site-1.toml").write_text("not readable")
    answer = _ask(role, OPEN)
    assert isinstance(answer, Refusal)
    assert str(tmp_path) not in answer.text
    (tmp_path / "site-1.toml").write_text("{}")
    assert isinstance(_ask(role, OPEN), Opened)


def test_a_large_answer_comes_whole(host):
    role, _ = host()
    _ask(role, OPEN)
    answer = _ask(role, Predict("run", "public", "public_bound", 0, 8.0, False))
    assert len(answer.packed) == 2 << 20


def test_the_process_ends_with_its_executor(host, job, tmp_path):
    role, _ = host()
    setup = json.dumps(asdict(role._setup))
    parent = subprocess.Popen(
        [sys.executable, "-c", f"""
import os, time
from medfed.flare.hosting import *
role = HostedRole(Setup(**{setup}), progress=print, stop=lambda: False)
role._running()
print(role._process.pid, flush=True)
time.sleep(60)
"""],
        stdout=subprocess.PIPE, env=dict(os.environ),
    )  # fmt: skip
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    _gone, living = psutil.wait_procs(
        [psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=10
    )
    assert not living
