"""Without a model its work waits, is not asked for each second, and begins once the model is there."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import jobs
from chat.jobs import runner
from chat.jobs.registry import HANDLERS, MODEL, QUICK
from chat.jobs.runner import JobRunner, lanes
from chat.llm.registry import registry
from chat.llm.state import ModelState, Status
from chat.models import Job
from tests.waiting import until

pytestmark = pytest.mark.django_db
AWAY = [ModelState.MISSING, ModelState.LOADING, ModelState.FAILED]


@pytest.mark.parametrize("state", AWAY)
def test_no_lane_takes_what_needs_the_model(state):
    registry._set(Status(state))
    able = set().union(*(lane.able(timezone.now()) for lane in lanes()))
    assert able == HANDLERS.keys() - MODEL
    assert able >= QUICK | {"reindex"}


def test_with_one_every_kind_has_its_lane_and_what_is_urgent_one_more(scripted, db):
    usual = [lane for lane in lanes() if not lane.urgent]
    assert sorted(kind for lane in usual for kind in lane.able(timezone.now())) == sorted(HANDLERS)
    assert [lane.kinds for lane in lanes() if lane.urgent] == [usual[1].kinds]


@pytest.mark.parametrize("state", AWAY)
@pytest.mark.parametrize("kind", ["title", "app_memory", "extract"])
def test_what_was_begun_all_the_same_begins_soon_after_the_model_is_back(say, at_once, state, kind):
    from chat.actions import conversations

    conversations.end(say("We need a tent for nine days in the fells, and my brother Tom freezes easily."))
    Job.objects.exclude(kind=kind).delete()
    Job.objects.update(run_after=timezone.now())
    registry._set(Status(state, sentence="There is no model."))
    assert runner.run_due({kind}) == 0
    job = Job.objects.get()
    assert (job.attempts, job.failed_at) == (0, None)
    assert timedelta(0) < job.run_after - timezone.now() <= timedelta(seconds=5)


@pytest.mark.django_db(transaction=True)
def test_the_runner_begins_as_soon_as_the_model_is_there(monkeypatch, scripted):
    monkeypatch.setattr(runner, "POLL_SECONDS", 600.0)
    done = []
    monkeypatch.setitem(HANDLERS, "test", done.append)
    monkeypatch.setattr("chat.jobs.runner.MODEL", MODEL | {"test"})
    registry._set(Status(ModelState.LOADING))
    jobs.enqueue("test", {})
    running = JobRunner()
    running.start()
    try:
        quick = next(lane for lane in running._lanes if lane.name == "model")
        until(lambda: not running._lanes[quick].is_set())
        assert not done
        assert Job.objects.get(kind="test").attempts == 0
        registry.use(scripted, label="Scripted")
        until(lambda: done)
    finally:
        running.stop()


def test_a_run_that_is_to_end_tries_each_job_once(monkeypatch, db):
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
