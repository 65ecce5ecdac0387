"""Jobs that need the model wait while there is none and start once the model is available."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chat.actions import jobs
from chat.errors import Reason
from chat.jobs import runner
from chat.jobs.registry import HANDLERS, MODEL, QUICK
from chat.jobs.runner import JobRunner, job_threads
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.models import Job
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db
UNAVAILABLE = [ModelState.MISSING, ModelState.LOADING, ModelState.FAILED]


@pytest.mark.parametrize("state", UNAVAILABLE)
def test_no_runner_thread_claims_jobs_that_need_the_model(state):
    registry.set_status(ModelStatus(state))
    able = set().union(*(lane.runnable_kinds(timezone.now()) for lane in job_threads()))
    assert able == HANDLERS.keys() - MODEL
    assert able >= QUICK | {"reindex"}


def test_with_a_model_each_kind_has_one_thread_and_urgent_jobs_an_extra_one(scripted, db):
    usual = [lane for lane in job_threads() if not lane.urgent]
    assert sorted(kind for lane in usual for kind in lane.runnable_kinds(timezone.now())) == sorted(HANDLERS)
    assert [lane.kinds for lane in job_threads() if lane.urgent] == [usual[1].kinds]


@pytest.mark.parametrize("state", UNAVAILABLE)
@pytest.mark.parametrize("kind", ["title", "app_memory", "extract"])
def test_a_claimed_job_is_postponed_by_at_most_five_seconds(
    add_exchange, immediate_app_memories, state, kind
):
    from chat.actions import conversations

    conversations.end_conversation(
        add_exchange("We need a tent for nine days in the fells, and my brother Tom freezes easily.")
    )
    Job.objects.exclude(kind=kind).delete()
    Job.objects.update(run_after=timezone.now())
    registry.set_status(ModelStatus(state, reason=Reason("no-model")))
    assert runner.run_due({kind}) == 0
    job = Job.objects.get()
    assert (job.attempts, job.failed_at) == (0, None)
    assert timedelta(0) < job.run_after - timezone.now() <= timedelta(seconds=5)


@pytest.mark.django_db(transaction=True)
def test_the_runner_starts_jobs_when_the_model_becomes_available(monkeypatch, scripted):
    monkeypatch.setattr(runner, "POLL_SECONDS", 600.0)
    done: list[Any] = []
    monkeypatch.setitem(HANDLERS, "test", done.append)
    monkeypatch.setattr("chat.jobs.runner.MODEL", MODEL | {"test"})
    registry.set_status(ModelStatus(ModelState.LOADING))
    jobs.enqueue("test", {})
    running = JobRunner()
    running.start()
    try:
        quick = next(lane for lane in running._lanes if lane.name == "model")
        wait_until(lambda: not running._lanes[quick].is_set())
        assert not done
        assert Job.objects.get(kind="test").attempts == 0
        registry.use(scripted, label="Scripted")
        wait_until(lambda: done)
    finally:
        running.stop()


def test_run_due_tries_each_job_once(monkeypatch, db):
    tried = []

    def later(payload):
        tried.append(payload["n"])
        raise runner.Postpone(timezone.now() - timedelta(seconds=1))

    def broken(payload):
        tried.append(payload["n"])
        raise ValueError("no")

    monkeypatch.setitem(HANDLERS, "later", later)
    monkeypatch.setitem(HANDLERS, "broken", broken)
    for n in range(3):
        jobs.enqueue("later", {"n": n})
        jobs.enqueue("broken", {"n": 10 + n})
    assert runner.run_due(["later", "broken"]) == 0
    assert sorted(tried) == [0, 1, 2, 10, 11, 12]
