"""Durable jobs are deduplicated, run once, retried after failures and never lost."""

from __future__ import annotations

import queue
import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from chat.actions import jobs
from chat.jobs import runner
from chat.jobs.registry import HANDLERS, Postpone
from chat.models import Job
from tests.waiting import wait_until


@pytest.fixture
def set_test_handler(monkeypatch):
    """Return a function that sets the handler of jobs of kind "test" and returns the list of its payloads."""
    calls: list[dict[str, Any]] = []

    def set_handler(action=lambda payload: None):
        def handler(payload):
            calls.append(payload)
            action(payload)

        monkeypatch.setitem(HANDLERS, "test", handler)
        return calls

    return set_handler


def enqueue_test_job(key: str | None = "k", **how) -> None:
    jobs.enqueue("test", {"n": 1}, key=key, **how)


def run_test_jobs() -> int:
    return runner.run_due(["test"])


def fail(payload):
    raise RuntimeError("the disk is on fire")


@pytest.mark.django_db
class TestSingleRunner:
    """Behaviour that one runner thread shows."""

    def test_a_job_runs_and_its_row_is_deleted(self, set_test_handler):
        calls = set_test_handler()
        enqueue_test_job()
        assert run_test_jobs() == 1
        assert calls == [{"n": 1}]
        assert not Job.objects.exists()

    def test_two_requests_with_one_key_are_one_job(self, set_test_handler):
        calls = set_test_handler()
        enqueue_test_job()
        enqueue_test_job()
        assert run_test_jobs() == 1
        assert len(calls) == 1

    def test_requests_without_a_key_are_separate_jobs(self, set_test_handler):
        calls = set_test_handler()
        enqueue_test_job(None)
        enqueue_test_job(None)
        assert run_test_jobs() == 2
        assert len(calls) == 2

    def test_a_request_during_a_run_runs_the_job_again(self, set_test_handler):
        calls: list[Any] = set_test_handler(lambda payload: enqueue_test_job() if len(calls) == 1 else None)
        enqueue_test_job()
        assert run_test_jobs() == 2
        assert not Job.objects.exists()

    def test_a_job_does_not_run_before_its_time(self, set_test_handler, clock):
        set_test_handler()
        enqueue_test_job(run_after=timezone.now() + timedelta(seconds=2))
        assert run_test_jobs() == 0
        clock(3)
        assert run_test_jobs() == 1

    def test_a_failure_is_stored_and_retried_with_growing_delays(self, set_test_handler, clock):
        set_test_handler(fail)
        enqueue_test_job()
        pauses = []
        for _ in range(3):
            assert run_test_jobs() == 0
            job = Job.objects.get()
            pauses.append((job.run_after - timezone.now()).total_seconds())
            clock(pauses[-1])
        assert pauses == [10, 20, 40]
        assert job.last_error == "RuntimeError: the disk is on fire"
        assert job.lease_until is None

    def test_after_five_failures_a_job_gives_up_and_stays_visible(self, set_test_handler, clock):
        calls = set_test_handler(fail)
        enqueue_test_job()
        for _ in range(9):
            run_test_jobs()
            clock(3600)
        assert len(calls) == 5
        assert Job.objects.get().failed_at is not None

    def test_a_new_request_restarts_a_job_that_gave_up(self, set_test_handler):
        Job.objects.create(kind="test", dedupe_key="k", failed_at=timezone.now(), attempts=5)
        calls = set_test_handler()
        enqueue_test_job()
        assert run_test_jobs() == 1
        assert len(calls) == 1

    def test_a_request_during_the_last_attempt_is_not_lost(self, set_test_handler):
        def last_try(payload):
            enqueue_test_job()
            raise RuntimeError("once more")

        set_test_handler(last_try)
        enqueue_test_job()
        Job.objects.update(attempts=jobs.MAX_ATTEMPTS - 1)
        runner.run_one(["test"])
        job = Job.objects.get()
        assert job.failed_at is None
        assert (job.attempts, job.lease_until) == (0, None)

    def test_a_postponed_job_has_not_failed(self, set_test_handler):
        until = timezone.now() + timedelta(minutes=1)

        def later(payload):
            raise Postpone(until)

        set_test_handler(later)
        enqueue_test_job()
        assert run_test_jobs() == 0
        job = Job.objects.get()
        assert (job.run_after, job.attempts, job.last_error, job.lease_until) == (until, 0, "", None)

    def test_leases_of_a_killed_process_are_released_at_start(self, set_test_handler):
        calls = set_test_handler()
        enqueue_test_job()
        assert jobs.claim(["test"], timezone.now()) is not None
        assert run_test_jobs() == 0
        assert jobs.release_leases(timezone.now()) == 0
        assert run_test_jobs() == 1
        assert len(calls) == 1

    def test_a_job_with_an_expired_lease_is_claimed_again(self, set_test_handler, clock):
        set_test_handler()
        enqueue_test_job()
        jobs.claim(["test"], timezone.now())
        clock(jobs.LEASE.total_seconds() + 1)
        assert run_test_jobs() == 1

    def test_the_most_urgent_due_job_comes_first(self, set_test_handler):
        calls = set_test_handler()
        for priority in (5, 1, 9):
            Job.objects.create(kind="test", payload={"priority": priority}, priority=priority)
        run_test_jobs()
        assert [c["priority"] for c in calls] == [1, 5, 9]

    def test_a_runner_takes_only_its_own_kinds(self, set_test_handler):
        set_test_handler()
        enqueue_test_job()
        assert not runner.run_one(["something else"])

    def test_job_kinds_have_handlers(self):
        assert {"extract", "settle", "finish_deletion"} <= HANDLERS.keys()


@pytest.mark.django_db(transaction=True)
def test_each_job_is_claimed_by_one_thread():
    for i in range(10):
        jobs.enqueue("test", {"n": i}, key=f"k{i}")
    barrier, taken = threading.Barrier(4), []

    def claim() -> None:
        barrier.wait(5)
        try:
            while job := jobs.claim(["test"], timezone.now()):
                taken.append(job.payload["n"])
        finally:
            connection.close()

    threads = [threading.Thread(target=claim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(taken) == list(range(10))


@pytest.mark.django_db(transaction=True)
def test_runner_threads_run_due_jobs_and_end_on_stop(set_test_handler):
    done = threading.Event()
    set_test_handler(lambda payload: done.set())
    enqueue_test_job()
    both = runner.JobRunner()
    both.start()
    try:
        assert done.wait(10)
    finally:
        both.stop()
    assert not any(thread.is_alive() for thread in both._threads)
    assert not Job.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_idle_runner_starts_new_jobs_immediately_and_delayed_jobs_on_time(set_test_handler, monkeypatch):
    monkeypatch.setattr(runner, "POLL_SECONDS", 60.0)
    ran: queue.SimpleQueue[float] = queue.SimpleQueue()
    set_test_handler(lambda payload: ran.put(time.monotonic()))
    both = runner.JobRunner()
    both.start()
    try:
        time.sleep(0.2)
        began = time.monotonic()
        enqueue_test_job()
        assert ran.get(timeout=10) - began < 5
        began = time.monotonic()
        jobs.enqueue("test", {}, run_after=timezone.now() + timedelta(seconds=1))
        assert 1 <= ran.get(timeout=10) - began < 6
    finally:
        both.stop()


@pytest.mark.django_db
def test_the_next_due_time_includes_leases_and_excludes_failed_jobs():
    now = timezone.now()
    assert Job.objects.all().next_due() is None
    Job.objects.create(kind="test", run_after=now, failed_at=now)
    assert Job.objects.all().next_due() is None
    Job.objects.create(
        kind="test", run_after=now - timedelta(hours=1), lease_until=now + timedelta(minutes=5)
    )
    assert Job.objects.all().next_due() == now + timedelta(minutes=5)
    Job.objects.create(kind="test", run_after=now + timedelta(minutes=2))
    assert Job.objects.all().next_due() == now + timedelta(minutes=2)


@pytest.mark.django_db(transaction=True)
def test_two_runners_run_each_job_once(set_test_handler, monkeypatch):
    monkeypatch.setattr(runner, "POLL_SECONDS", 0.01)
    calls = set_test_handler(lambda payload: time.sleep(0.001))
    for i in range(30):
        jobs.enqueue("test", {"n": i}, key=f"k{i}")
    two = [runner.JobRunner(), runner.JobRunner()]
    for each in two:
        each.start()
    try:
        wait_until(lambda: not Job.objects.exists())
    finally:
        for each in two:
            each.stop()
    assert sorted(c["n"] for c in calls if "n" in c) == list(range(30))
