"""Stopping the program during background jobs loses no job and uses no attempt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from chat.actions import conversations, jobs, prompts
from chat.actions.facts import add_fact
from chat.errors import ModelNotReady, Unfinished
from chat.jobs import runner
from chat.jobs.registry import HANDLERS
from chat.jobs.runner import JobRunner
from chat.llm import time_limit
from chat.llm.registry import registry
from chat.llm.types import Usage
from chat.models import AppMemory, Conversation, Fact, Job
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db
TENT = "We need a tent for nine days in the fells in August, and my brother Tom freezes easily."


@pytest.fixture
def queue_only(add_exchange, immediate_app_memories, owner):
    """Return a function that queues all jobs with model calls and keeps only those of one kind."""

    def ask(kind: str) -> Job:
        chat = add_exchange(TENT)
        conversations.end_conversation(chat)
        add_fact(owner, "A fact that only a model can sort")
        prompts.queue_preparation(chat.pk, 8000, 8192)
        Job.objects.exclude(kind=kind).delete()
        Job.objects.update(run_after=timezone.now())
        return Job.objects.get()

    return ask


@pytest.mark.parametrize("kind", ["extract", "title", "app_memory", "settle"])
@pytest.mark.parametrize(
    "end", [Unfinished(Usage(worked_seconds=20.0)), ModelNotReady("model-closed")], ids=repr
)
def test_an_interrupted_job_is_queued_again_without_an_attempt(queue_only, scripted, kind, end):
    queue_only(kind)
    for queue in (scripted.completions, scripted.titles, scripted.app_memories):
        queue.append(end)
    assert runner.run_due({kind}) == 0
    assert len(scripted.calls) == 1
    job = Job.objects.get(kind=kind)
    assert (job.attempts, job.failed_at, job.lease_until, job.last_error) == (0, None, None, "")
    assert job.run_after > timezone.now()
    assert not AppMemory.objects.exists()
    assert Conversation.objects.get().title == TENT[:59].rsplit(" ", 1)[0] + "…"


def test_an_app_memory_job_that_exceeds_its_time_is_dropped(queue_only, scripted, monkeypatch):
    queue_only("app_memory")
    monkeypatch.setattr(time_limit.threading, "Timer", Timer)

    def too_long(turns):
        Timer.newest.up()
        raise Unfinished(Usage(worked_seconds=29.0))

    scripted.app_memories.append(too_long)
    assert runner.run_due({"app_memory"}) == 1
    assert not Job.objects.filter(kind="app_memory").exists()
    assert not AppMemory.objects.exists()


class Timer:
    """A replacement of threading.Timer that the test triggers itself."""

    daemon = False
    newest: Timer

    def __init__(self, _seconds: float, up: Callable[[], None]) -> None:
        self.up = up
        Timer.newest = self

    def start(self) -> None:
        """Do nothing; the test calls `up`."""

    cancel = start


@pytest.mark.django_db(transaction=True)
def test_a_running_job_is_released_at_shutdown_and_not_completed_later(monkeypatch, scripted):
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
def test_a_runner_thread_survives_errors_between_jobs(monkeypatch, scripted):
    real = runner.run_one
    broken: list[Any] = []

    def once(kinds, **options):
        if len(broken) < 4:
            broken.append(1)
            raise RuntimeError("the disk is full")
        return real(kinds, **options)

    monkeypatch.setattr(runner, "run_one", once)
    monkeypatch.setattr(runner, "POLL_SECONDS", 0.01)
    done: list[Any] = []
    monkeypatch.setitem(HANDLERS, "test", done.append)
    jobs.enqueue("test", {})
    running = JobRunner()
    running.start()
    try:
        wait_until(lambda: done)
    finally:
        running.stop()
    assert Fact.objects.count() == 0
    assert registry.status().label == "Scripted"
