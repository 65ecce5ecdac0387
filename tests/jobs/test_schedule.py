"""The nightly job runs once a day at three in the morning in the owner's time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core.management import call_command
from django.utils import timezone

from chat.actions import archive, decay
from chat.jobs import schedule
from chat.jobs.runner import run_due
from chat.models import Fact, Job, OwnerSettings

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("now", "zone", "night"),
    [
        ("2026-03-01T02:59", "UTC", "2026-03-01T03:00"),
        ("2026-03-01T03:00", "UTC", "2026-03-02T03:00"),
        ("2026-03-01T12:00", "America/Lima", "2026-03-02T08:00"),
        ("2026-03-01T12:00", "Asia/Tokyo", "2026-03-01T18:00"),
        # Daylight saving time begins at 01:00 UTC, so three o'clock local time is an hour earlier.
        ("2026-03-28T12:00", "Europe/Copenhagen", "2026-03-29T01:00"),
    ],
)
def test_the_next_night_is_three_oclock_local(now, zone, night):
    begin, end = (datetime.fromisoformat(t).replace(tzinfo=UTC) for t in (now, night))
    assert schedule.next_night(begin, ZoneInfo(zone)) == end


@pytest.fixture
def nightly_owners(monkeypatch):
    """The owners for whom the nightly work, replaced by a recorder, was called."""
    done = []

    def work(owner, now, zone):
        done.append(owner)
        return decay.DecayResult(), 0

    monkeypatch.setattr(schedule, "decay_and_purge", work)
    return done


def test_the_nightly_job_runs_at_the_start_and_at_night(clock, owner, make_fact, nightly_owners):
    make_fact("User likes tea")
    schedule.enqueue_all(clock(0))
    schedule.enqueue_all(clock(1))
    assert run_due([schedule.NIGHTLY]) == 1
    assert nightly_owners == [owner]
    job = Job.objects.get(kind=schedule.NIGHTLY)
    assert job.run_after == datetime(2026, 3, 2, 3, tzinfo=UTC)
    clock(14 * 3600)
    assert run_due([schedule.NIGHTLY]) == 0
    clock(3600)
    assert run_due([schedule.NIGHTLY]) == 1
    assert len(nightly_owners) == 2


def test_the_earliest_night_of_all_owners_comes_first(clock, owner, other, make_fact, nightly_owners):
    make_fact("User likes tea")
    make_fact("User likes go", owner=other)
    OwnerSettings.objects.filter(owner=other).update(time_zone="Asia/Tokyo")
    schedule.enqueue_all(clock(0))
    run_due([schedule.NIGHTLY])
    assert Job.objects.get(kind=schedule.NIGHTLY).run_after == datetime(2026, 3, 1, 18, tzinfo=UTC)


def test_one_owners_failure_does_not_affect_others_and_is_retried(
    clock, owner, other, make_fact, monkeypatch
):
    make_fact("User likes tea")
    make_fact("User likes go", owner=other)
    done = []

    def work(of, now, zone):
        if of == owner:
            raise ValueError("broken")
        done.append(of)

    monkeypatch.setattr(schedule, "decay_and_purge", work)
    schedule.enqueue_all(clock(0))
    run_due([schedule.NIGHTLY])
    job = Job.objects.get(kind=schedule.NIGHTLY)
    assert done == [other]
    assert (job.attempts, job.last_error) == (1, "ValueError: broken")
    assert job.run_after < timezone.now() + timedelta(minutes=1)


def test_a_failed_nightly_job_runs_again_after_a_start(clock, owner, make_fact, nightly_owners):
    make_fact("User likes tea")
    schedule.enqueue_all(clock(0))
    Job.objects.filter(kind=schedule.NIGHTLY).update(failed_at=clock(0), attempts=5)
    schedule.enqueue_all(clock(1))
    assert run_due([schedule.NIGHTLY]) == 1


def test_the_decay_command_prints_its_result(clock, owner, other, make_fact, talk, capsys):
    now = clock(0)
    make_fact("User likes tea", confidence=0.1, idle_days=200, last_used=now, last_seen=now)
    make_fact("User likes go", archived_at=now - archive.ARCHIVE_RETENTION)
    clock(86400)
    talk("Hello")
    clock(86400)
    call_command("decay")
    said = "owner: 1 faded, of these 1 went to the archive; 1 removed from the archive\n"
    assert capsys.readouterr().out == said
    assert Fact.objects.archived().get().text == "User likes tea"
    call_command("decay")
    assert "0 faded" in capsys.readouterr().out
