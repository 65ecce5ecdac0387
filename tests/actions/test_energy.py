"""Spent energy is stored once, also with several threads; the status lists the jobs that wait for energy."""

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
def set_level(clock):
    """Return a function that sets the stored energy level as of now."""

    def put(units: float) -> None:
        Energy.objects.update_or_create(pk=1, defaults={"level": units, "measured_at": timezone.now()})

    return put


@pytest.mark.django_db
class TestSpending:
    """One row holds the energy level and the time when it was measured."""

    def test_the_level_starts_at_full_capacity(self, clock):
        assert energy.read_level(clock(0)) == CAPACITY
        assert energy.find_low_until(clock(0)) is None

    def test_spent_energy_refills_over_time(self, clock):
        energy.spend_energy(100, clock(0))
        assert energy.read_level(clock(0)) == 80
        assert energy.read_level(clock(1200)) == pytest.approx(140)
        energy.spend_energy(10, clock(0))
        assert energy.read_level(clock(0)) == pytest.approx(130)
        assert energy.read_level(clock(7 * 86400)) == CAPACITY

    def test_a_clock_set_back_neither_spends_nor_blocks_energy(self, clock, set_level):
        set_level(20)
        now = clock(-365 * 86400)
        until = energy.find_low_until(now)
        assert until == now + timedelta(seconds=(36 - 20) * 20 + 1)
        clock(321)
        assert energy.find_low_until(timezone.now()) is None

    def test_unsaved_meter_readings_count_towards_the_level(self, clock):
        meter.background.add(30)
        assert energy.read_level(clock(0)) == CAPACITY - 30
        energy.save_meter()
        energy.save_meter()
        assert Energy.objects.get().level == CAPACITY - 30

    def test_a_failed_save_is_repeated_with_the_next_one(self, clock, monkeypatch):
        def fail(*args):
            raise DatabaseError("locked")

        meter.background.add(30)
        with monkeypatch.context() as patched:
            patched.setattr(energy, "spend_energy", fail)
            energy.save_meter()
        assert not Energy.objects.exists()
        energy.save_meter()
        assert Energy.objects.get().level == CAPACITY - 30


@pytest.mark.django_db(transaction=True)
def test_concurrent_threads_all_spend_their_energy():
    now = timezone.now()
    barrier = threading.Barrier(4)

    def spend() -> None:
        barrier.wait(5)
        try:
            for _ in range(5):
                energy.spend_energy(1, now)
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
    """The energy status that the page shows."""

    def test_no_jobs_are_deferred_while_energy_is_sufficient(
        self, clock, set_level, django_assert_num_queries
    ):
        set_level(90)
        jobs.enqueue("extract", {}, key="extract:1")
        with django_assert_num_queries(1):
            status = energy.read_status(timezone.now())
        assert status == energy.EnergyStatus(50)

    def test_low_energy_status_lists_deferred_jobs_and_the_resume_time(
        self, clock, set_level, django_assert_num_queries
    ):
        set_level(18)
        now = timezone.now()
        for n in range(3):
            jobs.enqueue("extract", {}, key=f"extract:{n}")
        jobs.enqueue("title", {}, key="title:1")
        jobs.enqueue("finish_deletion", {}, key="finish_deletion:1")
        jobs.enqueue("extract", {}, run_after=now + timedelta(days=1))
        Job.objects.create(kind="extract", failed_at=now)
        Job.objects.create(kind="extract", lease_until=now + timedelta(minutes=1))
        with django_assert_num_queries(2):
            status = energy.read_status(now)
        assert (status.percent, status.low, status.waiting) == (10, True, 4)
        assert {(d.kind, d.count, d.words) for d in status.deferred} == {
            ("extract", 3, "reading messages"),
            ("title", 1, "finding titles"),
        }
        assert status.until == energy.find_low_until(now) == now + timedelta(seconds=361)
