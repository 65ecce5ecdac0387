"""A job at work belongs to one process until it is done, however long it takes."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import jobs
from chat.jobs import leases, runner
from chat.jobs.registry import HANDLERS
from chat.models import Job

pytestmark = pytest.mark.django_db
LONG = jobs.LEASE.total_seconds()


@pytest.fixture
def claimed(clock):
    """A job that one process has begun."""
    jobs.enqueue("test", {}, key="k")
    job = jobs.claim(["test"], clock(0))
    assert job is not None
    return job


def test_a_job_that_takes_long_stays_with_the_process_that_does_it(clock, claimed):
    with leases.held(claimed):
        for _ in range(5):
            clock(LONG - 1)
            leases.renew()
            assert jobs.claim(["test"], timezone.now()) is None
    jobs.done(claimed)
    assert not Job.objects.exists()


def test_what_is_put_away_is_not_renewed_any_more(clock, claimed):
    with leases.held(claimed):
        pass
    clock(LONG + 1)
    leases.renew()
    assert jobs.claim(["test"], timezone.now()) is not None


def test_whoever_slept_too_long_does_not_touch_what_another_took_over(clock, claimed, caplog):
    with leases.held(claimed):
        clock(7 * 86400)
        other = jobs.claim(["test"], timezone.now())
        assert other is not None
        leases.renew()
    assert "has taken a job over" in caplog.text
    for end in (
        lambda: jobs.done(claimed),
        lambda: jobs.failed(claimed, "too late"),
        lambda: jobs.postpone(claimed, timezone.now()),
    ):
        end()
        row = Job.objects.get()
        assert (row.lease_until, row.last_error) == (other.lease_until, "")
    jobs.done(other)
    assert not Job.objects.exists()


def test_while_the_runner_is_at_work_it_renews_by_itself(clock, claimed, monkeypatch):
    def takes_long(payload):
        clock(LONG - 1)
        leases.renew()
        clock(LONG - 1)

    jobs.done(claimed)
    monkeypatch.setitem(HANDLERS, "test", takes_long)
    jobs.enqueue("test", {}, key="k")
    assert runner.run_one(["test"])
    assert not Job.objects.exists()
