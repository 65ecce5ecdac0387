"""The lease of a running job is renewed, so the job belongs to one process for as long as it takes."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import jobs
from chat.jobs import periodic, runner
from chat.jobs.registry import HANDLERS
from chat.models import Job

pytestmark = pytest.mark.django_db
LEASE_SECONDS = jobs.LEASE.total_seconds()


@pytest.fixture
def claimed_job(clock):
    """A job that a process has claimed."""
    jobs.enqueue("test", {}, key="k")
    job = jobs.claim(["test"], clock(0))
    assert job is not None
    return job


def test_a_long_job_stays_with_its_process(clock, claimed_job):
    with periodic.hold_lease(claimed_job):
        for _ in range(5):
            clock(LEASE_SECONDS - 1)
            periodic.renew_leases()
            assert jobs.claim(["test"], timezone.now()) is None
    jobs.complete(claimed_job)
    assert not Job.objects.exists()


def test_a_released_lease_is_not_renewed(clock, claimed_job):
    with periodic.hold_lease(claimed_job):
        pass
    clock(LEASE_SECONDS + 1)
    periodic.renew_leases()
    assert jobs.claim(["test"], timezone.now()) is not None


def test_a_process_that_lost_its_lease_does_not_change_the_job(clock, claimed_job, caplog):
    with periodic.hold_lease(claimed_job):
        clock(7 * 86400)
        other = jobs.claim(["test"], timezone.now())
        assert other is not None
        periodic.renew_leases()
    assert "has taken a job over" in caplog.text
    for end in (
        lambda: jobs.complete(claimed_job),
        lambda: jobs.record_failure(claimed_job, "too late"),
        lambda: jobs.postpone(claimed_job, timezone.now()),
    ):
        end()
        row = Job.objects.get()
        assert (row.lease_until, row.last_error) == (other.lease_until, "")
    jobs.complete(other)
    assert not Job.objects.exists()


def test_the_runner_renews_the_lease_of_its_running_job(clock, claimed_job, monkeypatch):
    def run_long(payload):
        clock(LEASE_SECONDS - 1)
        periodic.renew_leases()
        clock(LEASE_SECONDS - 1)

    jobs.complete(claimed_job)
    monkeypatch.setitem(HANDLERS, "test", run_long)
    jobs.enqueue("test", {}, key="k")
    assert runner.run_one(["test"])
    assert not Job.objects.exists()
