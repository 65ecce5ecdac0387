"""Log lines name conversations and jobs by id and contain no text of messages or facts."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import IntegrityError
from pydantic import BaseModel, ValidationError

from chat.actions import facts, jobs
from chat.actions.messages import send_message
from chat.errors import ProviderError
from chat.generation import run as generation
from chat.jobs import runner
from chat.jobs.registry import HANDLERS, Postpone
from chat.models import Conversation, Fact, Job, MessageState
from memoryapp import settings
from memoryapp.base import logs
from tests.scripted_summary import summarise_turns

WORDS = re.compile("zanzibar|quagga|marzipan|thimble", re.IGNORECASE)


class Log:
    """The output of one logging configuration."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def capture_log() -> Iterator[Callable[..., Log]]:
    """Return a function that adds a handler with the product's configuration and returns its output."""
    root = logging.getLogger()
    level, added = root.level, []

    def add_log(form: str, level: str = "INFO") -> Log:
        log = Log()
        how = logs.build_logging_config(form, level)["formatters"]["line"]
        handler = logging.StreamHandler(log.stream)
        handler.setFormatter(how.pop("()")(**how))
        handler.addFilter(logs.LogContextFilter())
        handler.addFilter(logs.SecretPathFilter())
        root.addHandler(handler)
        root.setLevel(level)
        added.append(handler)
        return log

    yield add_log
    for handler in added:
        root.removeHandler(handler)
    root.setLevel(level)


both = pytest.mark.parametrize("form", ["", "json"], ids=["lines", "json"])
log = logging.getLogger("chat.test")


@pytest.mark.parametrize("form", ["", "json"])
def test_the_environment_chooses_the_format(form):
    environment = os.environ | {"LOG_FORMAT": form, "LOG_LEVEL": "INFO"}
    code = "import logging; logging.getLogger('chat').info('here', extra={'job': 1})"
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", code],
        cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    line = done.stderr.strip().splitlines()[-1]
    if form == "json":
        assert json.loads(line)["job"] == 1
    else:
        assert line.endswith("INFO chat: here [job=1]")


def test_a_line_has_the_ids_of_its_context(capture_log):
    written = capture_log("")
    with logs.log_context(job=3, kind="extract", conversation="c-1"):
        log.warning("it failed")
    log.warning("outside")
    first, second = written.text.splitlines()
    assert re.fullmatch(
        r"[\d-]+ [\d:,]+ WARNING chat\.test: it failed \[job=3 kind=extract conversation=c-1\]", first
    )
    assert second.endswith("outside")


def test_json_lines_have_the_ids_as_fields(capture_log):
    written = capture_log("json")
    with logs.log_context(job=3, conversation=None), logs.log_context(conversation="c-1"):
        log.warning("it failed", extra={"seconds": 0.5})
    [line] = written.objects
    assert line.pop("time")
    assert line == {
        "level": "WARNING", "logger": "chat.test", "message": "it failed",
        "job": "3", "conversation": "c-1", "seconds": 0.5,
    }  # fmt: skip


def test_ids_of_the_record_override_ids_of_the_context(capture_log):
    written = capture_log("json")
    with logs.log_context(conversation="around"):
        log.warning("this one", extra={"conversation": "own"})
    assert written.objects[0]["conversation"] == "own"


def test_a_failed_request_is_logged_without_its_query(capture_log, rf):
    written = capture_log("json")
    log.error("Internal Server Error: /search/", extra={"request": rf.get("/search/?q=quagga")})
    assert "quagga" not in written.text


PRIVATE_TEXT = "my quagga eats marzipan"


class Short(BaseModel):
    text: int


def make_quoting_errors() -> list[Exception]:
    try:
        Short(text=PRIVATE_TEXT)
    except ValidationError as error:
        return [error, IntegrityError(f"DETAIL: Failing row contains (1, {PRIVATE_TEXT})")]
    raise AssertionError


@both
@pytest.mark.parametrize("error", make_quoting_errors(), ids=lambda e: type(e).__name__)
def test_errors_that_quote_user_text_are_logged_without_it(capture_log, form, error):
    written = capture_log(form)
    try:
        try:
            raise error
        except type(error) as cause:
            raise RuntimeError("not stored") from cause
    except RuntimeError:
        log.exception("it failed")
    assert type(error).__name__ in written.text
    assert "RuntimeError: not stored" in written.text
    assert not WORDS.search(written.text)


@pytest.fixture
def run_test_job(monkeypatch) -> Callable[[Exception | None], Job]:
    """Return a function that runs one job, which succeeds or raises the given error."""

    def run(error: Exception | None) -> Job:
        def handler(payload: Any) -> None:
            log.warning("at work")
            if error is not None:
                raise error

        monkeypatch.setitem(HANDLERS, "test", handler)
        jobs.enqueue("test", {"conversation": "c-1", "text": "quagga"})
        job = Job.objects.get(kind="test")
        runner.run_due(["test"])
        return job

    return run


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("error", "end"),
    [
        (None, "done"),
        (ValueError("no"), "the job failed"),
        (Postpone(jobs.timezone.now() + jobs.LEASE), "postponed until"),
    ],
)
def test_every_line_of_a_job_has_its_ids(capture_log, run_test_job, error, end):
    written = capture_log("json")
    job = run_test_job(error)
    first, last = written.objects
    assert first["message"] == "at work"
    assert last["message"].startswith(end)
    for line in (first, last):
        assert (line["job"], line["kind"], line["conversation"]) == (str(job.pk), "test", "c-1")
    assert not WORDS.search(written.text)


@pytest.mark.django_db
def test_a_jobs_row_does_not_store_text_quoted_by_its_error(run_test_job):
    for error in make_quoting_errors():
        run_test_job(error)
        job = Job.objects.get(kind="test")
        assert job.last_error == type(error).__name__
        job.delete()


@both
@pytest.mark.django_db(transaction=True)
def test_a_turn_with_memory_logs_no_user_text(capture_log, owner, scripted, form):
    written = capture_log(form)
    scripted.default_completion = summarise_turns
    scripted.replies.extend(
        ["Marzipan keeps for months.", ProviderError("verbatim", sentence="The model is away.")]
    )
    scripted.titles.append("Marzipan in Zanzibar")
    facts.add_fact(owner, "I keep a quagga")
    runner.run_due(["settle"])
    scripted.completions.extend(["home: User lives in Zanzibar", "none"])
    asked, reply = send_message(owner, "I live in Zanzibar. How long does marzipan keep?")
    generation.start(reply)
    generation.wait_all()
    asked, failing = send_message(owner, "And is my thimble safe?", asked.conversation)
    generation.start(failing)
    generation.wait_all()
    failing.refresh_from_db()
    assert failing.state == MessageState.FAILED
    Job.objects.update(run_after=asked.created_at)
    runner.run_due()
    Job.objects.update(run_after=asked.created_at)
    runner.run_due()
    assert Fact.objects.filter(text="User lives in Zanzibar").exists()
    assert Conversation.objects.get().title == "Marzipan in Zanzibar"
    assert not WORDS.search(written.text)
    for message in (reply, failing):
        assert str(message.pk) in written.text
    assert written.text.count(str(asked.conversation_id)) >= 4


@both
@pytest.mark.parametrize("path", ["first/{}/", "invite/{}/", "account/password/reset/{}/"])
def test_the_secret_of_a_link_is_in_no_line(capture_log, form, path):
    log = capture_log(form)
    logging.getLogger("django.request").warning("%s: %s", "Gone", f"/{path.format('s3cret-of-a-link')}")
    assert "Gone: /" in log.text
    assert "s3cret" not in log.text
