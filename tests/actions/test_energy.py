"""What was spent is written down once, by whichever thread; what waits for energy can be shown."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection
from django.utils import timezone

from chat.actions import energy, jobs
from chat.llm import meter
from chat.memory.energy import CAPACITY
from chat.models import Energy, Job

NEVER_EMPTY = 180


@pytest.fixture
def level(clock):
    """Returns a setter of the level at this moment."""

    def put(units: float) -> None:
        Energy.objects.update_or_create(pk=1, defaults={"level": units, "measured_at": timezone.now()})

    return put


@pytest.mark.django_db
class TestSpending:
    """One row holds the level as of a moment."""

    def test_before_anything_was_spent_all_of_it_is_there(self, clock):
        assert energy.level_now(clock(0)) == CAPACITY
        assert energy.low_until(clock(0)) is None

    def test_what_is_spent_is_refilled_with_time(self, clock):
        energy.spend(100, clock(0))
        assert energy.level_now(clock(0)) == 80
        assert energy.level_now(clock(1200)) == pytest.approx(140)
        energy.spend(10, clock(0))
        assert energy.level_now(clock(0)) == pytest.approx(130)
        assert energy.level_now(clock(7 * 86400)) == CAPACITY

    def test_a_clock_that_went_backwards_takes_nothing_and_stops_nothing(self, clock, level):
        level(20)
        now = clock(-365 * 86400)
        until = energy.low_until(now)
        assert until == now + timedelta(seconds=(36 - 20) * 20 + 1)
        clock(321)
        assert energy.low_until(timezone.now()) is None

    def test_what_the_meter_holds_counts_before_it_is_written_down(self, clock):
        meter.background.add(30)
        assert energy.level_now(clock(0)) == CAPACITY - 30
        energy.settle()
        energy.settle()
        assert Energy.objects.get().level == CAPACITY - 30

    def test_what_the_database_did_not_take_is_spent_the_next_time(self, clock, monkeypatch):
        def away(*args):
            raise DatabaseError("locked")

        meter.background.add(30)
        with monkeypatch.context() as patched:
            patched.setattr(energy, "spend", away)
            energy.settle()
        assert not Energy.objects.exists()
        energy.settle()
        assert Energy.objects.get().level == CAPACITY - 30


@pytest.mark.django_db(transaction=True)
def test_of_several_threads_none_loses_what_another_spent():
    now = timezone.now()
    barrier = threading.Barrier(4)

    def spend() -> None:
        barrier.wait(5)
        try:
            for _ in range(5):
                energy.spend(1, now)
        finally:
            connection.close()

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert Energy.objects.get().level == CAPACITY - 20


@pytest.mark.django_db
class TestStatus:
    """What the page shows."""

    def test_while_there_is_enough_nothing_is_deferred(self, clock, level, django_assert_num_queries):
        level(90)
        jobs.enqueue("extract", {}, key="extract:1")
        with django_assert_num_queries(1):
            status = energy.status(timezone.now())
        assert status == energy.Status(50)

    def test_while_it_is_low_it_says_what_waits_until_when(self, clock, level, django_assert_num_queries):
        level(18)
        now = timezone.now()
        for n in range(3):
            jobs.enqueue("extract", {}, key=f"extract:{n}")
        jobs.enqueue("title", {}, key="title:1")
        jobs.enqueue("finish_deletion", {}, key="finish_deletion:1")
        jobs.enqueue("extract", {}, run_after=now + timedelta(days=1))
        Job.objects.create(kind="extract", failed_at=now)
        Job.objects.create(kind="extract", lease_until=now + timedelta(minutes=1))
        with django_assert_num_queries(2):
            status = energy.status(now)
        assert (status.percent, status.low, status.waiting) == (10, True, 4)
        assert {(d.kind, d.count, d.words) for d in status.deferred} == {
            ("extract", 3, "reading messages"),
            ("title", 1, "finding titles"),
        }
        assert status.until == energy.low_until(now) == now + timedelta(seconds=361)
