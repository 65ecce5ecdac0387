"""Whatever the clock does, periodic work is done once and nothing is lost."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from chat.actions import deletions, energy, jobs
from chat.jobs import schedule
from chat.jobs.registry import HANDLERS, PERIODIC
from chat.jobs.runner import run_due
from chat.models import Conversation, Deletion, Energy, Fact, Job, OwnerSettings

pytestmark = pytest.mark.django_db
WEEK = 7 * 86400


@pytest.fixture
def ran(monkeypatch):
    """How often each kind of job has run."""
    counts: Counter[str] = Counter()

    def counted(kind, handler):
        def run(payload):
            counts[kind] += 1
            handler(payload)

        return run

    for kind, handler in list(HANDLERS.items()):
        monkeypatch.setitem(HANDLERS, kind, counted(kind, handler))
    return counts


@pytest.fixture
def known(owner, make_fact):
    """Something to fade, so that there is an owner with a night."""
    return make_fact("User likes tea")


def lives_in(owner, zone: str) -> None:
    OwnerSettings.objects.filter(owner=owner).update(time_zone=zone)


def due_again(kind: str) -> datetime:
    return Job.objects.get(kind=kind).run_after


class TestDowntime:
    """The process was not there at three in the morning."""

    @pytest.mark.parametrize("nights", [1, 2, 30])
    def test_missed_nights_are_caught_up_once_at_the_next_start(self, clock, known, ran, nights):
        schedule.plan(clock(0))
        run_due()
        ran.clear()
        schedule.plan(clock(nights * 86400))
        run_due()
        run_due()
        assert {kind: ran[kind] for kind in PERIODIC} == dict.fromkeys(PERIODIC, 1)
        assert due_again("nightly") == schedule.next_night(timezone.now(), ZoneInfo("UTC"))

    def test_a_process_killed_in_the_night_does_the_nights_work_at_its_next_start(self, clock, known, ran):
        schedule.plan(clock(0))
        assert jobs.claim(["nightly"], clock(0)) is not None
        clock(60)
        jobs.release_leases(timezone.now())
        schedule.plan(clock(0))
        assert run_due(["nightly"]) == 1
        assert run_due(["nightly"]) == 0


class TestSummerTime:
    """The clocks go forward or back in the night: it has one three o'clock for us."""

    @pytest.mark.parametrize(
        ("zone", "first_evening", "nights"),
        [
            # 02:00 becomes 03:00; 03:00 becomes 02:00.
            ("Europe/Berlin", "2026-03-27T20:00", ["03-28T02:00", "03-29T01:00", "03-30T01:00"]),
            ("Europe/Berlin", "2026-10-23T20:00", ["10-24T01:00", "10-25T02:00", "10-26T02:00"]),
            ("America/New_York", "2026-03-06T20:00", ["03-07T08:00", "03-08T07:00", "03-09T07:00"]),
            ("America/New_York", "2026-10-30T20:00", ["10-31T07:00", "11-01T08:00", "11-02T08:00"]),
            # Here it is three o'clock itself that is left out, and that comes twice.
            ("Europe/Helsinki", "2026-03-27T20:00", ["03-28T01:00", "03-29T01:00", "03-30T00:00"]),
            ("Europe/Helsinki", "2026-10-23T20:00", ["10-24T00:00", "10-25T00:00", "10-26T01:00"]),
        ],
    )
    def test_each_night_is_done_once_at_three_oclock(
        self, time_machine, owner, known, ran, zone, first_evening, nights
    ):
        lives_in(owner, zone)
        time_machine.move_to(f"{first_evening}+00:00", tick=False)
        schedule.plan(timezone.now())
        run_due(["nightly"])
        done = []
        for _ in range(len(nights) * 24 * 12):
            time_machine.shift(timedelta(minutes=5))
            if run_due(["nightly"]):
                done.append(timezone.now().astimezone(UTC).strftime("%m-%dT%H:%M"))
        assert done == nights
        assert ran["nightly"] == 1 + len(nights)


class TestAsleepForAWeek:
    """A laptop is closed in the middle of everything; a week later it goes on without a new start."""

    @pytest.fixture
    def asleep(self, clock, owner, say, known, ran, scripted, make_fact):
        schedule.plan(clock(0))
        run_due()
        conversation = say("I like chess.")
        deletion = deletions.forget(owner, [make_fact("User likes go").pk])
        jobs.enqueue("title", {"conversation": str(conversation.pk)}, key=f"title:{conversation.pk}")
        # It was closed while the title was being written, and all energy was spent.
        assert jobs.claim(["title"], timezone.now()) is not None
        energy.spend(300, timezone.now())
        ran.clear()
        clock(WEEK)
        scripted.completions.append("likes: User likes chess")
        return conversation, deletion

    def test_all_that_waited_is_done_once(self, asleep, ran):
        conversation, deletion = asleep
        run_due()
        assert Deletion.objects.get(pk=deletion.pk).state == "done"
        assert Fact.objects.filter(text="User likes chess", mention_count=1).count() == 1
        assert Conversation.objects.get(pk=conversation.pk).ended_at is not None
        assert ran["title"] == ran["extract"] == ran["end_idle"] == ran["finish_deletion"] == 1
        assert {kind: ran[kind] for kind in PERIODIC} == dict.fromkeys(PERIODIC, 1)
        assert not Job.objects.exclude(kind__in=PERIODIC).filter(run_after__lte=timezone.now()).exists()

    def test_what_is_periodic_goes_on_from_now_and_makes_up_for_nothing(self, asleep, clock, ran):
        run_due()
        now = timezone.now()
        assert {due_again(kind) for kind in PERIODIC if kind != "nightly"} == {now + schedule.EVERY}
        assert now < due_again("nightly") <= now + timedelta(days=1)
        ran.clear()
        clock(schedule.EVERY.total_seconds() - 1)
        run_due()
        assert not ran.keys() & PERIODIC.keys()

    def test_its_energy_is_there_again_and_not_more(self, asleep):
        assert energy.status(timezone.now()) == energy.Status(100)

    def test_fading_counts_no_day_on_which_nothing_was_written(self, asleep, known):
        run_due()
        known.refresh_from_db()
        assert known.idle_days <= 1


class TestAClockThatWasWrong:
    """It ran ahead for a while and has been put back."""

    def test_what_it_put_off_for_a_year_is_due_at_the_next_start(self, clock, owner, say, ran, scripted):
        clock(365 * 86400)
        say("I like chess.")
        schedule.plan(timezone.now())
        run_due(list(PERIODIC))
        clock(-365 * 86400)
        assert run_due() == 0
        assert jobs.mend_times(timezone.now()) > 0
        schedule.plan(timezone.now())
        ran.clear()
        run_due()
        assert ran["extract"] == ran["nightly"] == 1

    def test_what_waits_for_the_next_night_is_left_alone(self, clock, known):
        schedule.plan(clock(0))
        run_due()
        before = due_again("nightly")
        assert jobs.mend_times(timezone.now()) == 0
        assert due_again("nightly") == before

    def test_energy_refills_from_the_moment_that_it_was_put_back(self, clock, owner, say, scripted):
        energy.spend(179, clock(86400))
        clock(-86400)
        say("I like chess.")
        clock(2)
        run_due(["extract"])
        assert scripted.calls == []
        assert Energy.objects.get().measured_at == timezone.now()
        clock(3600)
        run_due(["extract"])
        assert len(scripted.calls) == 1
