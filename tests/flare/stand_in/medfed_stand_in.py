"""Roles that train nothing: they wait, print, die, or answer wrongly, as MEDFED_STAND_IN asks."""

import json
import os
import signal
import time

import numpy as np

from medfed.errors import BadFile, NotEnoughSites, Stopped
from medfed.messages import Close, Closed, LogitsUpload, Open, Opened, Predict, Train, Trained
from medfed.privacy.gate import Gate
from medfed.privacy.ledger import Ledger
from medfed.privacy.policy import SitePolicy
from medfed.roles.channel import Envelope, Failure, ProgressEvent
from medfed.roles.endpoint import SiteEndpoint

WANTED = json.loads(os.environ["MEDFED_STAND_IN"])
CANARY = "/hospital/archive/patient-4711.dcm"


class SiteRole:
    questions = ("train", "predict", "close")

    def __init__(self, name, site, state_dir, progress, stop):
        self.name, self.site, self.state_dir, self.progress, self.stop = (
            name,
            site,
            state_dir,
            progress,
            stop,
        )

    def open(self, question):
        print("a library that prints to standard output", flush=True)
        none = np.zeros(2, np.int64)
        return Opened("0", "0", "0", 0, none, none)

    def answer(self, question):
        wish = WANTED.get(self.name, {})
        if isinstance(question, Train):
            if wish.get("canary"):
                raise BadFile(f"{CANARY}: cannot be read")
            self._work(wish)
            return Trained(1, 1.0, False)
        if isinstance(question, Predict):
            if wish.get("crash"):
                raise RuntimeError(CANARY)
            return LogitsUpload(
                "public",
                4,
                256,  # the levels of a job that names none: the gate holds an upload to its job
                8.0,
                "raw",
                "none",
                np.ones(2, bool),
                np.full(2 << 20, ord(self.name[-1]), np.uint8),
                np.zeros(0, np.uint8),
            )
        return Closed(os.getpid())

    def _work(self, wish):
        died = self.state_dir / "died"
        for step in range(wish.get("steps", 4)):
            if self.stop():
                raise Stopped("asked to stop")
            time.sleep(0.25)
            self.progress(ProgressEvent(self.name, "train", step + 1, wish.get("steps", 4)))
            if step == 1 and wish.get("dies") and (wish["dies"] == "always" or not died.exists()):
                died.parent.mkdir(parents=True, exist_ok=True)
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)


class ServerRole:
    def __init__(self, job, channel, folder, progress):
        self.job, self.channel, self.folder, self.progress = job, channel, folder, progress

    def run(self):
        wish, digest = WANTED.get("server", {}), np.zeros((1, 32), np.uint8)
        questions = [
            Open("run", "fedkd", "0", "job", "pipeline", "words", digest, digest[:0]),
            Train("run"),
            Predict("run", "public", "public_bound", 256, 8.0, False),
        ]
        seen = {}
        for question in questions:
            good = 0
            for site, answer in self.channel.ask(
                question, self.channel.sites, phase=question.kind, deadline_s=None
            ):
                failed = isinstance(answer, Failure)
                good += not failed
                seen[f"{question.kind}/{site}"] = (
                    f"{answer.reason}: {answer.text}" if failed else answer.kind
                )
                if isinstance(answer, LogitsUpload):
                    seen[f"bytes/{site}"] = int(answer.packed[0])
            self.progress(ProgressEvent("server", question.kind, 1, 1))
            if good < self.job.federation.min_sites:
                raise NotEnoughSites(f"{good} sites answered {question.kind}.")
        for i in range(wish.get("steps", 0)):
            self._step(i, seen)
        dict(
            self.channel.ask(
                Close("run", "complete"), self.channel.sites, phase="close", deadline_s=5.0
            )
        )
        self.folder.write("seen.json", json.dumps(seen))

    def _step(self, number, seen):
        from medfed.flare.aux_channel import AuxChannel

        tasks = self.channel
        if not hasattr(self, "_aux"):
            self._aux = AuxChannel(
                tasks._fl_ctx.get_engine(),
                tasks._fl_ctx,
                tasks.sites,
                tasks._envelope,
                stop=lambda: False,
            )
        for _ in range(2):
            question, pids = Close("run", f"step {number}"), []
            for _site, answer in self._aux.ask(
                question, tasks.sites, phase="step", deadline_s=None
            ):
                pids.append(answer.messages_sent if isinstance(answer, Closed) else str(answer))
            seen.setdefault(f"step {number}", []).append(pids)


def site_endpoint(job, site, *, name, state_dir, progress, stop):
    policy = SitePolicy()
    gate = Gate(policy, Ledger(state_dir / "ledger.jsonl"), site=name, job=job)
    role = SiteRole(name, site, state_dir, progress, stop)
    return SiteEndpoint(role, gate, name=name, state_dir=state_dir / job.run_id())


def server_role(job, channel, *, site, run_folder, progress, stop, environment="local"):
    return ServerRole(job, channel, run_folder, progress)


def envelope_for(folder):
    return Envelope(folder.record_wire, folder.record_disclosure)
