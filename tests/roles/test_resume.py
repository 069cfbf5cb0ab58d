"""A run that stops anywhere goes on to the same student, and no question gets a second answer."""

import numpy as np
import pytest

from medfed.errors import Stopped
from medfed.messages import Predict, Train
from medfed.roles.shared_sets import SharedSets
from medfed.wire import decode, encode

pytestmark = pytest.mark.usefixtures("quick")
NOISY = {"fedkd": {"noise": {"mechanism": "laplace", "scale": 0.5}}}


class StopAt:
    """Asks to stop from the first event of one party in one phase on."""

    def __init__(self, party, phase, done=0):
        self.at, self.done, self.stopped = (party, phase), done, False

    def watch(self, event):
        self.stopped |= (event.party, event.phase) == self.at and event.done >= self.done

    def stop(self):
        return self.stopped


STOPS = [
    ("server", "open", 1), ("site-1", "train", 1), ("site-2", "train", 1), ("server", "train", 2),
    ("server", "predict public", 1), ("server", "predict public", 2), ("server", "distil", 1),
]  # fmt: skip


@pytest.mark.parametrize("at", STOPS, ids=lambda at: " ".join(map(str, at)))
def test_a_stopped_run_resumes_to_the_same_student(federation, reference, helpers, at):
    stopping = StopAt(*at)
    try:
        folder = federation.run(watch=stopping.watch, stop=stopping.stop)
        assert at[1] == "distil"  # the last step may be over before the stop is seen
    except Stopped:
        folder = federation.open(federation.job())
    assert stopping.stopped
    folder = federation.run()
    assert folder.status().outcome == "complete"
    assert helpers.student(folder) == helpers.student(reference)


@pytest.mark.parametrize("phase", ["train", "predict public", "predict benchmark", "distil"])
def test_a_server_that_dies_resumes_to_the_same_student(federation, reference, helpers, phase):
    class Died(BaseException):
        """As abrupt as a kill, for everything that is not on disk."""

    def watch(event):
        if event.party == "server" and event.phase == phase and event.done == event.total:
            raise Died

    with pytest.raises(Died):
        federation.run(watch=watch)
    folder = federation.run()
    assert folder.status().outcome == "complete"
    assert helpers.student(folder) == helpers.student(reference)


def ready(federation, job, name="run"):
    """An opened and trained endpoint."""
    from medfed.data import Site

    server = Site.read(federation.sites / "server.toml")
    endpoint = federation.endpoint("site-1", job, name)
    for question in (SharedSets.open(job, server).question(job), Train(job.run_id())):
        assert decode(endpoint.handle(encode(question)), sender="t").kind in ("opened", "trained")
    return endpoint


def predict(job, **changes):
    values = {
        "run": job.run_id(), "question": "public", "mode": "public_bound", "levels": 256, "bound": 8.0,
        "confidence": False,
    }  # fmt: skip
    return encode(Predict(**{**values, **changes}))


def test_a_question_asked_again_gets_the_bytes_it_got_before(federation):
    job = federation.job(**NOISY)
    endpoint = ready(federation, job)
    first = endpoint.handle(predict(job))
    assert decode(first, sender="t").noise.startswith("laplace")
    assert endpoint.handle(predict(job)) == first
    assert federation.endpoint("site-1", job).handle(predict(job)) == first  # after a restart
    for kept in (federation.folder / "run").rglob("answers/*"):
        kept.unlink()
    assert federation.endpoint("site-1", job).handle(predict(job)) == first


def test_noise_depends_on_the_secret_and_on_the_job(federation, helpers):
    def packed(job, name):
        answer = decode(ready(federation, job, name).handle(predict(job)), sender="t")
        return np.array(answer.packed).tobytes()

    job = federation.job(**NOISY)
    first = packed(job, "a")
    assert packed(job, "b") == first
    assert packed(federation.job(**NOISY, name="again"), "c") != first
    own = helpers.phantoms("train", 1000) + helpers.SHARED + helpers.PRIVACY
    federation.write("site-1", own, secret="another")
    assert packed(job, "d") != first
    federation.write("site-1", own, secret="")  # made at random, once for each state folder
    assert packed(job, "e") not in (first, packed(job, "f"))


@pytest.mark.parametrize(
    "change", [{"levels": 0}, {"bound": 9.0}, {"mode": "paper"}, {"confidence": True}]
)
def test_a_question_that_asks_for_more_than_the_job_is_refused(federation, change):
    job = federation.job()
    answer = decode(ready(federation, job).handle(predict(job, **change)), sender="t")
    assert answer.kind == "refusal"
    assert "another form" in answer.text


def test_other_public_images_under_the_same_job_are_refused(federation, helpers):
    job = federation.job()
    ready(federation, job)
    other = helpers.phantoms("public", 51_000) + helpers.phantoms("benchmark", 70_000)
    federation.write("server", other)
    federation.write("site-1", helpers.phantoms("train", 1000) + other + helpers.PRIVACY)
    from medfed.data import Site

    server = Site.read(federation.sites / "server.toml")
    question = encode(SharedSets.open(job, server).question(job))
    answer = decode(federation.endpoint("site-1", job).handle(question), sender="t")
    assert answer.kind == "refusal"
    assert "another name" in answer.text


def test_a_question_before_the_opening_is_refused(federation):
    job = federation.job()
    answer = decode(federation.endpoint("site-1", job).handle(predict(job)), sender="t")
    assert (answer.kind, answer.code) == ("refusal", "wire")
