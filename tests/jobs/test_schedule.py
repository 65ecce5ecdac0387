"""Memory fades at three in the morning where the owner lives, once a day, however often we start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core.management import call_command
from django.utils import timezone

from chat.actions import archive, fading
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
        # The clocks go forward at one: three o'clock is an hour sooner.
        ("2026-03-28T12:00", "Europe/Copenhagen", "2026-03-29T01:00"),
    ],
)
def test_the_next_night_is_three_oclock_local(now, zone, night):
    begin, end = (datetime.fromisoformat(t).replace(tzinfo=UTC) for t in (now, night))
    assert schedule.next_night(begin, ZoneInfo(zone)) == end


@pytest.fixture
def nightly(monkeypatch):
    """What was done for whom, instead of doing it."""
    done = []

    def work(owner, now, zone):
        done.append(owner)
        return fading.Faded(), 0

    monkeypatch.setattr(schedule, "work", work)
    return done


def test_at_each_start_it_is_done_at_once_and_again_at_night(clock, owner, make_fact, nightly):
    make_fact("User likes tea")
    schedule.plan(clock(0))
    schedule.plan(clock(1))
    assert run_due([schedule.KIND]) == 1
    assert nightly == [owner]
    job = Job.objects.get(kind=schedule.KIND)
    assert job.run_after == datetime(2026, 3, 2, 3, tzinfo=UTC)
    clock(14 * 3600)
    assert run_due([schedule.KIND]) == 0
    clock(3600)
    assert run_due([schedule.KIND]) == 1
    assert len(nightly) == 2


def test_the_night_of_whoever_sleeps_first_comes_first(clock, owner, other, make_fact, nightly):
    make_fact("User likes tea")
    make_fact("User likes go", owner=other)
    OwnerSettings.objects.filter(owner=other).update(time_zone="Asia/Tokyo")
    schedule.plan(clock(0))
    run_due([schedule.KIND])
    assert Job.objects.get(kind=schedule.KIND).run_after == datetime(2026, 3, 1, 18, tzinfo=UTC)


def test_one_owners_failure_keeps_no_other_from_theirs_and_is_tried_again(
    clock, owner, other, make_fact, monkeypatch
):
    make_fact("User likes tea")
    make_fact("User likes go", owner=other)
    done = []

    def work(of, now, zone):
        if of == owner:
            raise ValueError("broken")
        done.append(of)

    monkeypatch.setattr(schedule, "work", work)
    schedule.plan(clock(0))
    run_due([schedule.KIND])
    job = Job.objects.get(kind=schedule.KIND)
    assert done == [other]
    assert (job.attempts, job.last_error) == (1, "ValueError: broken")
    assert job.run_after < timezone.now() + timedelta(minutes=1)


def test_a_row_that_was_lost_or_given_up_is_there_again_after_a_start(clock, owner, make_fact, nightly):
    make_fact("User likes tea")
    schedule.plan(clock(0))
    Job.objects.filter(kind=schedule.KIND).update(failed_at=clock(0), attempts=5)
    schedule.plan(clock(1))
    assert run_due([schedule.KIND]) == 1


def test_by_hand_it_says_what_it_did(clock, owner, other, make_fact, talk, capsys):
    now = clock(0)
    make_fact("User likes tea", confidence=0.1, idle_days=200, last_used=now, last_seen=now)
    make_fact("User likes go", archived_at=now - archive.KEPT_FOR)
    clock(86400)
    talk("Hello")
    clock(86400)
    call_command("decay")
    said = "owner: 1 faded, of these 1 went to the archive; 1 removed from the archive\n"
    assert capsys.readouterr().out == said
    assert Fact.objects.archived().get().text == "User likes tea"
    call_command("decay")
    assert "0 faded" in capsys.readouterr().out
