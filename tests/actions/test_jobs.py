"""Durable work: asked for once, done once, tried again, never lost."""

from __future__ import annotations

import queue
import threading
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from chat.actions import jobs
from chat.jobs import runner
from chat.jobs.registry import HANDLERS, Postpone
from chat.models import Job
from tests.waiting import until


@pytest.fixture
def work(monkeypatch):
    """Returns a setter of what a job of kind "test" does, and the list of payloads it was called with."""
    calls: list[dict] = []

    def does(action=lambda payload: None):
        def handler(payload):
            calls.append(payload)
            action(payload)

        monkeypatch.setitem(HANDLERS, "test", handler)
        return calls

    return does


def ask(key: str | None = "k", **how) -> None:
    jobs.enqueue("test", {"n": 1}, key=key, **how)


def run() -> int:
    return runner.run_due(["test"])


def failing(payload):
    raise RuntimeError("the disk is on fire")


@pytest.mark.django_db
class TestOneThread:
    """All that needs no second runner."""

    def test_a_job_runs_and_its_row_goes(self, work):
        calls = work()
        ask()
        assert run() == 1
        assert calls == [{"n": 1}]
        assert not Job.objects.exists()

    def test_two_requests_with_one_key_are_one_job(self, work):
        calls = work()
        ask()
        ask()
        assert run() == 1
        assert len(calls) == 1

    def test_requests_without_a_key_are_each_done(self, work):
        calls = work()
        ask(None)
        ask(None)
        assert run() == 2
        assert len(calls) == 2

    def test_a_request_that_comes_while_the_job_runs_runs_it_once_more(self, work):
        calls = work(lambda payload: ask() if len(calls) == 1 else None)
        ask()
        assert run() == 2
        assert not Job.objects.exists()

    def test_a_job_does_not_run_before_its_time(self, work, clock):
        work()
        ask(run_after=timezone.now() + timedelta(seconds=2))
        assert run() == 0
        clock(3)
        assert run() == 1

    def test_a_failure_is_kept_and_tried_again_after_growing_pauses(self, work, clock):
        work(failing)
        ask()
        pauses = []
        for _ in range(3):
            assert run() == 0
            job = Job.objects.get()
            pauses.append((job.run_after - timezone.now()).total_seconds())
            clock(pauses[-1])
        assert pauses == [10, 20, 40]
        assert job.last_error == "RuntimeError: the disk is on fire"
        assert job.lease_until is None

    def test_after_five_failures_a_job_gives_up_and_stays_visible(self, work, clock):
        calls = work(failing)
        ask()
        for _ in range(9):
            run()
            clock(3600)
        assert len(calls) == 5
        assert Job.objects.get().failed_at is not None

    def test_a_new_request_gives_a_job_that_gave_up_a_new_chance(self, work):
        Job.objects.create(kind="test", dedupe_key="k", failed_at=timezone.now(), attempts=5)
        calls = work()
        ask()
        assert run() == 1
        assert len(calls) == 1

    def test_a_request_during_the_last_failing_run_is_not_lost_with_it(self, work):
        def last_try(payload):
            ask()
            raise RuntimeError("once more")

        work(last_try)
        ask()
        Job.objects.update(attempts=jobs.MAX_ATTEMPTS - 1)
        runner.run_one(["test"])
        job = Job.objects.get()
        assert job.failed_at is None
        assert (job.attempts, job.lease_until) == (0, None)

    def test_a_postponed_job_has_not_failed(self, work):
        until = timezone.now() + timedelta(minutes=1)

        def later(payload):
            raise Postpone(until)

        work(later)
        ask()
        assert run() == 0
        job = Job.objects.get()
        assert (job.run_after, job.attempts, job.last_error, job.lease_until) == (until, 0, "", None)

    def test_what_a_killed_process_held_is_free_again_at_the_next_start(self, work):
        calls = work()
        ask()
        assert jobs.claim(["test"], timezone.now()) is not None
        assert run() == 0
        assert jobs.release_leases(timezone.now()) == 0
        assert run() == 1
        assert len(calls) == 1

    def test_a_lease_that_has_run_out_is_taken_over(self, work, clock):
        work()
        ask()
        jobs.claim(["test"], timezone.now())
        clock(jobs.LEASE.total_seconds() + 1)
        assert run() == 1

    def test_the_most_urgent_due_job_comes_first(self, work):
        calls = work()
        for priority in (5, 1, 9):
            Job.objects.create(kind="test", payload={"priority": priority}, priority=priority)
        run()
        assert [c["priority"] for c in calls] == [1, 5, 9]

    def test_a_runner_takes_only_its_own_kinds(self, work):
        work()
        ask()
        assert not runner.run_one(["something else"])

    def test_each_kind_that_is_asked_for_has_a_handler(self):
        assert {"extract", "settle", "finish_deletion"} <= HANDLERS.keys()


@pytest.mark.django_db(transaction=True)
def test_of_many_runners_one_gets_the_job():
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
def test_the_runners_own_threads_do_what_is_due_and_end_when_told(work):
    done = threading.Event()
    work(lambda payload: done.set())
    ask()
    both = runner.JobRunner()
    both.start()
    try:
        assert done.wait(10)
    finally:
        both.stop()
    assert not any(thread.is_alive() for thread in both._threads)
    assert not Job.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_work_asked_for_while_the_runner_rests_begins_at_once_and_later_work_in_its_time(work, monkeypatch):
    monkeypatch.setattr(runner, "POLL_SECONDS", 60.0)
    ran: queue.SimpleQueue[float] = queue.SimpleQueue()
    work(lambda payload: ran.put(time.monotonic()))
    both = runner.JobRunner()
    both.start()
    try:
        time.sleep(0.2)
        began = time.monotonic()
        ask()
        assert ran.get(timeout=10) - began < 5
        began = time.monotonic()
        jobs.enqueue("test", {}, run_after=timezone.now() + timedelta(seconds=1))
        assert 1 <= ran.get(timeout=10) - began < 6
    finally:
        both.stop()


@pytest.mark.django_db
def test_the_next_due_time_counts_leases_and_leaves_out_what_was_given_up():
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
def test_of_two_runners_one_does_each_job(work, monkeypatch):
    monkeypatch.setattr(runner, "POLL_SECONDS", 0.01)
    calls = work(lambda payload: time.sleep(0.001))
    for i in range(30):
        jobs.enqueue("test", {"n": i}, key=f"k{i}")
    two = [runner.JobRunner(), runner.JobRunner()]
    for each in two:
        each.start()
    try:
        until(lambda: not Job.objects.exists())
    finally:
        for each in two:
            each.stop()
    assert sorted(c["n"] for c in calls if "n" in c) == list(range(30))
