import logging
from types import SimpleNamespace

import pytest
from nvflare.apis.filter import Filter
from nvflare.apis.fl_constant import FilterKey, FLContextKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.private.privacy_manager import PrivacyManager, PrivacyService

from medfed.errors import BadFile, ConfigError
from medfed.flare.executors import FedKDExecutor
from medfed.flare.parcel import KEY, STEP_TOPIC, contents, parcel
from medfed.messages import Refusal
from medfed.wire import decode

CANARY = "/hospital/archive/patient-4711.dcm"


@pytest.fixture
def executor(job):
    return FedKDExecutor(job.to_json(), job.fingerprint())


@pytest.fixture
def fl_ctx(tmp_path, monkeypatch):
    """A site's context in an empty workspace, without a privacy scope."""
    monkeypatch.setattr(PrivacyService, "manager", PrivacyManager([], None, None))
    for name in ("MEDFED_SITE_CONFIG_DIR", "MEDFED_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    context = FLContext()
    workspace = SimpleNamespace(get_root_dir=lambda: str(tmp_path))
    monkeypatch.setattr(context, "get_workspace", lambda: workspace, raising=False)
    monkeypatch.setattr(context, "get_identity_name", lambda: "site-1", raising=False)
    context.set_prop(FLContextKey.RUNNER, None, private=True, sticky=False)
    return context


def _hosts(executor, handle):
    executor._hosted = lambda fl_ctx: SimpleNamespace(handle=handle, close=lambda: None)


@pytest.mark.parametrize("job_text", [None, 3, "", "{}", "[" * 10_000])
def test_a_hostile_constructor_value_is_refused(job, job_text):
    with pytest.raises(ConfigError):
        FedKDExecutor(job_text, job.fingerprint())


def test_a_task_that_is_not_ours_is_not_answered(executor, fl_ctx):
    reply = executor.execute("train", parcel(b"x"), fl_ctx, None)
    assert reply.get_return_code() == ReturnCode.BAD_REQUEST_DATA


def test_a_question_goes_to_the_role_and_its_answer_back(executor, fl_ctx):
    _hosts(executor, lambda question: question[::-1])
    reply = executor.execute("medfed_train", parcel(b"abc"), fl_ctx, None)
    assert reply.get_return_code() == ReturnCode.OK
    assert contents(reply, sender="x") == b"cba"


@pytest.mark.parametrize(
    "error", [BadFile(f"{CANARY}: cannot be read"), OSError(CANARY), MemoryError(CANARY)]
)
def test_an_error_becomes_a_refusal_in_fixed_words(executor, fl_ctx, error, caplog):
    caplog.set_level(logging.CRITICAL + 1)

    def fail(question):
        raise error

    _hosts(executor, fail)
    data = contents(executor.execute("medfed_train", parcel(b"x"), fl_ctx, None), sender="x")
    assert isinstance(decode(data, sender="site-1"), Refusal)
    assert b"4711" not in data
    assert b"hospital" not in data


def test_a_site_without_a_configuration_says_so_without_a_path(executor, fl_ctx, tmp_path):
    data = contents(executor.execute("medfed_open", parcel(b"x"), fl_ctx, None), sender="x")
    assert decode(data, sender="site-1") == Refusal(
        "config", "this party has no medfed configuration"
    )


@pytest.mark.parametrize("question", [Shareable(), Shareable({KEY: "text"}), {}, None])
def test_a_question_without_a_message_is_refused(executor, fl_ctx, question):
    reply = executor.execute("medfed_train", question, fl_ctx, None)
    assert isinstance(decode(contents(reply, sender="x"), sender="site-1"), Refusal)


def test_a_repeated_step_gets_the_bytes_it_got_before(executor, fl_ctx):
    asked = []
    _hosts(executor, lambda question: asked.append(question) or b"noise %d" % len(asked))
    first, again = (
        contents(executor._step(STEP_TOPIC, parcel(b"1"), fl_ctx), sender="x") for _ in "12"
    )
    other = contents(executor._step(STEP_TOPIC, parcel(b"2"), fl_ctx), sender="x")
    assert (first, again, other) == (b"noise 1", b"noise 1", b"noise 2")


class Stamp(Filter):
    def process(self, shareable, fl_ctx):
        shareable[KEY] += b"-filtered"
        return shareable


def test_the_sites_filters_hold_for_steps_too(executor, fl_ctx):
    _hosts(executor, lambda question: b"answer")
    runner = SimpleNamespace(
        task_result_filters={STEP_TOPIC + FilterKey.DELIMITER + FilterKey.OUT: [Stamp()]}
    )
    fl_ctx.set_prop(FLContextKey.RUNNER, runner, private=True, sticky=False)
    scope = SimpleNamespace(task_result_filters={FilterKey.OUT: [Stamp()]})
    fl_ctx.set_prop(FLContextKey.SCOPE_OBJECT, scope, private=True, sticky=False)
    answers = [contents(executor._step(STEP_TOPIC, parcel(b"1"), fl_ctx), sender="x") for _ in "12"]
    assert answers == [b"answer-filtered-filtered"] * 2


def test_a_step_without_a_message_is_refused(executor, fl_ctx):
    assert (
        executor._step(STEP_TOPIC, Shareable(), fl_ctx).get_return_code()
        == ReturnCode.BAD_REQUEST_DATA
    )
