"""The log says what happened to which conversation and job, and nothing of what anybody said."""

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
from chat.generation import run as generation
from chat.jobs import runner
from chat.jobs.registry import HANDLERS, Postpone
from chat.llm.types import ProviderError
from chat.models import Conversation, Fact, Job, MessageState
from memoryapp import logs, settings
from tests.minutes import minutes

WORDS = re.compile("zanzibar|quagga|marzipan|thimble", re.IGNORECASE)


class Log:
    """What one configuration has written."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def logged() -> Iterator[Callable[..., Log]]:
    """Returns a maker of logs as the product's configuration writes them, beside what else listens."""
    root = logging.getLogger()
    level, added = root.level, []

    def configured(form: str, level: str = "INFO") -> Log:
        log = Log()
        how = logs.configuration(form, level)["formatters"]["line"]
        handler = logging.StreamHandler(log.stream)
        handler.setFormatter(how.pop("()")(**how))
        handler.addFilter(logs.Ids())
        root.addHandler(handler)
        root.setLevel(level)
        added.append(handler)
        return log

    yield configured
    for handler in added:
        root.removeHandler(handler)
    root.setLevel(level)


both = pytest.mark.parametrize("form", ["", "json"], ids=["lines", "json"])
log = logging.getLogger("chat.test")


@pytest.mark.parametrize("form", ["", "json"])
def test_the_environment_chooses_the_form(form):
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


def test_a_line_has_the_ids_of_what_it_is_about(logged):
    written = logged("")
    with logs.about(job=3, kind="extract", conversation="c-1"):
        log.warning("it failed")
    log.warning("outside")
    first, second = written.text.splitlines()
    assert re.fullmatch(
        r"[\d-]+ [\d:,]+ WARNING chat\.test: it failed \[job=3 kind=extract conversation=c-1\]", first
    )
    assert second.endswith("outside")


def test_json_has_them_as_fields_of_their_own(logged):
    written = logged("json")
    with logs.about(job=3, conversation=None), logs.about(conversation="c-1"):
        log.warning("it failed", extra={"seconds": 0.5})
    [line] = written.objects
    assert line.pop("time")
    assert line == {
        "level": "WARNING", "logger": "chat.test", "message": "it failed",
        "job": "3", "conversation": "c-1", "seconds": 0.5,
    }  # fmt: skip


def test_a_records_own_ids_come_before_those_around_it(logged):
    written = logged("json")
    with logs.about(conversation="around"):
        log.warning("this one", extra={"conversation": "own"})
    assert written.objects[0]["conversation"] == "own"


def test_a_request_that_failed_does_not_tell_what_was_searched_for(logged, rf):
    written = logged("json")
    log.error("Internal Server Error: /search/", extra={"request": rf.get("/search/?q=quagga")})
    assert "quagga" not in written.text


SAID = "my quagga eats marzipan"


class Short(BaseModel):
    text: int


def quoting() -> list[Exception]:
    try:
        Short(text=SAID)
    except ValidationError as error:
        return [error, IntegrityError(f"DETAIL: Failing row contains (1, {SAID})")]
    raise AssertionError


@both
@pytest.mark.parametrize("error", quoting(), ids=lambda e: type(e).__name__)
def test_an_error_that_quotes_what_it_could_not_take_is_logged_without_it(logged, form, error):
    written = logged(form)
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
def jobs_say(monkeypatch) -> Callable[[Exception | None], Job]:
    """Returns a runner of one job that ends so."""

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
        (Postpone(jobs.timezone.now() + jobs.LEASE), "put off until"),
    ],
)
def test_every_line_of_a_job_has_its_ids(logged, jobs_say, error, end):
    written = logged("json")
    job = jobs_say(error)
    first, last = written.objects
    assert first["message"] == "at work"
    assert last["message"].startswith(end)
    for line in (first, last):
        assert (line["job"], line["kind"], line["conversation"]) == (str(job.pk), "test", "c-1")
    assert not WORDS.search(written.text)


@pytest.mark.django_db
def test_nor_does_a_jobs_row_keep_what_its_error_quoted(jobs_say):
    for error in quoting():
        jobs_say(error)
        job = Job.objects.get(kind="test")
        assert job.last_error == type(error).__name__
        job.delete()


@both
@pytest.mark.django_db(transaction=True)
def test_a_whole_turn_with_memory_leaves_none_of_its_words_in_the_log(logged, owner, scripted, form):
    written = logged(form)
    scripted.default_completion = minutes
    scripted.replies.extend(["Marzipan keeps for months.", ProviderError("The model is away.")])
    scripted.titles.append("Marzipan in Zanzibar")
    facts.add_fact(owner, "I keep a quagga")
    runner.run_due(["settle"])
    scripted.completions.extend(["home: User lives in Zanzibar", "none"])
    asked, reply = send_message(owner, "I live in Zanzibar. How long does marzipan keep?")
    generation.start(reply)
    generation.wait()
    asked, failing = send_message(owner, "And is my thimble safe?", asked.conversation)
    generation.start(failing)
    generation.wait()
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
