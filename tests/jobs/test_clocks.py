"""Periodic jobs run once and no job is lost across downtime, clock changes and a suspended computer."""

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
def run_counts(monkeypatch):
    """A counter of runs for each kind of job."""
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
def decaying_fact(owner, make_fact):
    """A fact, so that the nightly job has an owner with work."""
    return make_fact("User likes tea")


def set_time_zone(owner, zone: str) -> None:
    OwnerSettings.objects.filter(owner=owner).update(time_zone=zone)


def next_run(kind: str) -> datetime:
    return Job.objects.get(kind=kind).run_after


class TestDowntime:
    """The process was not running at three in the morning."""

    @pytest.mark.parametrize("nights", [1, 2, 30])
    def test_missed_nights_run_once_at_the_next_start(self, clock, decaying_fact, run_counts, nights):
        schedule.enqueue_all(clock(0))
        run_due()
        run_counts.clear()
        schedule.enqueue_all(clock(nights * 86400))
        run_due()
        run_due()
        assert {kind: run_counts[kind] for kind in PERIODIC} == dict.fromkeys(PERIODIC, 1)
        assert next_run("nightly") == schedule.next_night(timezone.now(), ZoneInfo("UTC"))

    def test_a_killed_nightly_job_runs_at_the_next_start(self, clock, decaying_fact, run_counts):
        schedule.enqueue_all(clock(0))
        assert jobs.claim(["nightly"], clock(0)) is not None
        clock(60)
        jobs.release_leases(timezone.now())
        schedule.enqueue_all(clock(0))
        assert run_due(["nightly"]) == 1
        assert run_due(["nightly"]) == 0


class TestSummerTime:
    """The nightly job runs once in nights in which daylight saving time begins or ends."""

    @pytest.mark.parametrize(
        ("zone", "first_evening", "nights"),
        [
            # The clock goes from 02:00 to 03:00, or from 03:00 to 02:00.
            ("Europe/Berlin", "2026-03-27T20:00", ["03-28T02:00", "03-29T01:00", "03-30T01:00"]),
            ("Europe/Berlin", "2026-10-23T20:00", ["10-24T01:00", "10-25T02:00", "10-26T02:00"]),
            ("America/New_York", "2026-03-06T20:00", ["03-07T08:00", "03-08T07:00", "03-09T07:00"]),
            ("America/New_York", "2026-10-30T20:00", ["10-31T07:00", "11-01T08:00", "11-02T08:00"]),
            # Here three o'clock itself is skipped or occurs twice.
            ("Europe/Helsinki", "2026-03-27T20:00", ["03-28T01:00", "03-29T01:00", "03-30T00:00"]),
            ("Europe/Helsinki", "2026-10-23T20:00", ["10-24T00:00", "10-25T00:00", "10-26T01:00"]),
        ],
    )
    def test_each_night_is_done_once_at_three_oclock(
        self, time_machine, owner, decaying_fact, run_counts, zone, first_evening, nights
    ):
        set_time_zone(owner, zone)
        time_machine.move_to(f"{first_evening}+00:00", tick=False)
        schedule.enqueue_all(timezone.now())
        run_due(["nightly"])
        done = []
        for _ in range(len(nights) * 24 * 12):
            time_machine.shift(timedelta(minutes=5))
            if run_due(["nightly"]):
                done.append(timezone.now().astimezone(UTC).strftime("%m-%dT%H:%M"))
        assert done == nights
        assert run_counts["nightly"] == 1 + len(nights)


class TestAsleepForAWeek:
    """A suspended computer resumes after a week without a restart of the process."""

    @pytest.fixture
    def asleep(self, clock, owner, add_exchange, decaying_fact, run_counts, scripted, make_fact):
        schedule.enqueue_all(clock(0))
        run_due()
        conversation = add_exchange("I like chess.")
        deletion = deletions.forget_facts(owner, [make_fact("User likes go").pk])
        jobs.enqueue("title", {"conversation": str(conversation.pk)}, key=f"title:{conversation.pk}")
        # The computer was suspended while the title job ran and all energy was spent.
        assert jobs.claim(["title"], timezone.now()) is not None
        energy.spend_energy(300, timezone.now())
        run_counts.clear()
        clock(WEEK)
        scripted.completions.append("likes: User likes chess")
        return conversation, deletion

    def test_each_waiting_job_runs_once(self, asleep, run_counts):
        conversation, deletion = asleep
        run_due()
        assert Deletion.objects.get(pk=deletion.pk).state == "done"
        assert Fact.objects.filter(text="User likes chess", mention_count=1).count() == 1
        assert Conversation.objects.get(pk=conversation.pk).ended_at is not None
        assert (
            run_counts["title"]
            == run_counts["extract"]
            == run_counts["end_idle"]
            == run_counts["finish_deletion"]
            == 1
        )
        assert {kind: run_counts[kind] for kind in PERIODIC} == dict.fromkeys(PERIODIC, 1)
        assert not Job.objects.exclude(kind__in=PERIODIC).filter(run_after__lte=timezone.now()).exists()

    def test_periodic_jobs_continue_from_now_without_extra_runs(self, asleep, clock, run_counts):
        run_due()
        now = timezone.now()
        assert {next_run(kind) for kind in PERIODIC if kind != "nightly"} == {now + schedule.EVERY}
        assert now < next_run("nightly") <= now + timedelta(days=1)
        run_counts.clear()
        clock(schedule.EVERY.total_seconds() - 1)
        run_due()
        assert not run_counts.keys() & PERIODIC.keys()

    def test_energy_is_refilled_to_capacity(self, asleep):
        assert energy.read_status(timezone.now()) == energy.EnergyStatus(100)

    def test_decay_skips_days_without_messages(self, asleep, decaying_fact):
        run_due()
        decaying_fact.refresh_from_db()
        assert decaying_fact.idle_days <= 1


class TestClockSetBack:
    """The clock ran ahead for a while and was set back."""

    def test_jobs_scheduled_in_the_far_future_are_due_at_the_next_start(
        self, clock, owner, add_exchange, run_counts, scripted
    ):
        clock(365 * 86400)
        add_exchange("I like chess.")
        schedule.enqueue_all(timezone.now())
        run_due(list(PERIODIC))
        clock(-365 * 86400)
        assert run_due() == 0
        assert jobs.repair_run_times(timezone.now()) > 0
        schedule.enqueue_all(timezone.now())
        run_counts.clear()
        run_due()
        assert run_counts["extract"] == run_counts["nightly"] == 1

    def test_the_scheduled_nightly_job_is_unchanged(self, clock, decaying_fact):
        schedule.enqueue_all(clock(0))
        run_due()
        before = next_run("nightly")
        assert jobs.repair_run_times(timezone.now()) == 0
        assert next_run("nightly") == before

    def test_energy_refills_from_the_time_the_clock_was_set_back(self, clock, owner, add_exchange, scripted):
        energy.spend_energy(179, clock(86400))
        clock(-86400)
        add_exchange("I like chess.")
        clock(2)
        run_due(["extract"])
        assert scripted.calls == []
        assert Energy.objects.get().measured_at == timezone.now()
        clock(3600)
        run_due(["extract"])
        assert len(scripted.calls) == 1
