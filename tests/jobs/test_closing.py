"""Closing the program in the middle of background work loses nothing of it and uses up no try."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.utils import timezone

from chat.actions import conversations, jobs, prompts
from chat.actions.facts import add_fact
from chat.jobs import app_memories, runner
from chat.jobs.registry import HANDLERS
from chat.jobs.runner import JobRunner
from chat.llm.registry import registry
from chat.llm.types import ModelNotReady, Unfinished, Usage
from chat.models import AppMemory, Conversation, Fact, Job
from tests.waiting import until

pytestmark = pytest.mark.django_db
TENT = "We need a tent for nine days in the fells in August, and my brother Tom freezes easily."


@pytest.fixture
def begun(say, at_once, owner):
    """Asks for each kind of work that the model takes part in, and leaves the one that a test is about."""

    def ask(kind: str) -> Job:
        chat = say(TENT)
        conversations.end(chat)
        add_fact(owner, "A fact that only a model can sort")
        prompts.ask_to_prepare(chat.pk, 8000, 8192)
        Job.objects.exclude(kind=kind).delete()
        Job.objects.update(run_after=timezone.now())
        return Job.objects.get()

    return ask


@pytest.mark.parametrize("kind", ["extract", "title", "app_memory", "settle"])
@pytest.mark.parametrize(
    "end", [Unfinished(Usage(worked=20.0)), ModelNotReady("The model has been shut down.")], ids=repr
)
def test_what_the_model_was_kept_from_is_put_back(begun, scripted, kind, end):
    begun(kind)
    for queue in (scripted.completions, scripted.titles, scripted.app_memories):
        queue.append(end)
    assert runner.run_due({kind}) == 0
    assert len(scripted.calls) == 1
    job = Job.objects.get(kind=kind)
    assert (job.attempts, job.failed_at, job.lease_until, job.last_error) == (0, None, None, "")
    assert job.run_after > timezone.now()
    assert not AppMemory.objects.exists()
    assert Conversation.objects.get().title == TENT[:59].rsplit(" ", 1)[0] + "…"


def test_an_app_memory_whose_own_time_was_up_is_let_go(begun, scripted, monkeypatch):
    begun("app_memory")
    monkeypatch.setattr(app_memories.threading, "Timer", Timer)

    def too_long(turns):
        Timer.newest.up()
        raise Unfinished(Usage(worked=29.0))

    scripted.app_memories.append(too_long)
    assert runner.run_due({"app_memory"}) == 1
    assert not Job.objects.filter(kind="app_memory").exists()
    assert not AppMemory.objects.exists()


class Timer:
    """One that a test sets off by itself."""

    daemon = False
    newest: Timer

    def __init__(self, _seconds: float, up: Callable[[], None]) -> None:
        self.up = up
        Timer.newest = self

    def start(self) -> None:
        """Wait for the test."""

    cancel = start


@pytest.mark.django_db(transaction=True)
def test_a_job_at_work_is_given_back_at_the_end_and_what_it_does_later_ends_no_row(monkeypatch, scripted):
    inside, go_on = threading.Event(), threading.Event()

    def slow(payload):
        inside.set()
        go_on.wait(10)

    monkeypatch.setitem(HANDLERS, "test", slow)
    jobs.enqueue("test", {})
    running = JobRunner()
    running.start()
    assert inside.wait(10)
    running.stop(timeout=0.05)
    job = Job.objects.get(kind="test")
    assert (job.attempts, job.lease_until) == (0, None)
    go_on.set()
    for thread in running._threads:
        thread.join(10)
    assert Job.objects.filter(kind="test", attempts=0, lease_until=None).exists()


@pytest.mark.django_db(transaction=True)
def test_a_thread_survives_whatever_goes_wrong_between_two_jobs(monkeypatch, scripted):
    real, broken = runner.run_one, []

    def once(kinds, **options):
        if len(broken) < 4:
            broken.append(1)
            raise RuntimeError("the disk is full")
        return real(kinds, **options)

    monkeypatch.setattr(runner, "run_one", once)
    monkeypatch.setattr(runner, "POLL_SECONDS", 0.01)
    done = []
    monkeypatch.setitem(HANDLERS, "test", done.append)
    jobs.enqueue("test", {})
    running = JobRunner()
    running.start()
    try:
        until(lambda: done)
    finally:
        running.stop()
    assert Fact.objects.count() == 0
    assert registry.status().label == "Scripted"
