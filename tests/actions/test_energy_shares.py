"""In server mode each person has energy of their own; all levels together refill as fast as one alone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from chat.actions import energy, jobs
from chat.jobs import runner
from chat.llm import meter
from chat.memory import energy as arithmetic
from chat.memory.energy import CAPACITY, REFILL_PER_SECOND, share_refill
from chat.models import Energy, Job

LEVELS = st.dictionaries(st.integers(1, 9), st.floats(-CAPACITY, CAPACITY), min_size=1)


@given(LEVELS, st.floats(0, 100_000))
def test_all_levels_together_get_the_whole_refill_and_no_more(levels, seconds):
    filled = share_refill(levels, seconds)
    got = sum(filled.values()) - sum(levels.values())
    room = sum(CAPACITY - level for level in levels.values())
    assert got == pytest.approx(min(room, seconds * REFILL_PER_SECOND), abs=1e-6)


@given(LEVELS, st.floats(0, 100_000))
def test_no_level_gets_more_than_another_that_is_not_full(levels, seconds):
    filled = share_refill(levels, seconds)
    gains = {key: filled[key] - levels[key] for key in levels}
    open_gains = [gain for key, gain in gains.items() if filled[key] < CAPACITY - 1e-6]
    assert all(gain <= least + 1e-6 for gain in gains.values() for least in open_gains)


@given(st.floats(-CAPACITY, CAPACITY), st.integers(0, 100_000))
def test_one_level_alone_refills_as_on_a_machine_of_one_person(level, seconds):
    now = timezone.now()
    then = now + timedelta(seconds=seconds)
    assert share_refill({None: level}, float(seconds))[None] == arithmetic.refill_level(level, now, then)


@pytest.mark.django_db
class TestLevels:
    """One row for each person who has used energy."""

    def test_what_one_person_spends_another_keeps(self, server_mode, clock, owner, other):
        energy.spend_energy(170, clock(0), owner.pk)
        assert energy.find_low_until(clock(0), owner.pk) is not None
        assert energy.find_low_until(clock(0), other.pk) is None
        assert energy.read_level(clock(0), other.pk) == CAPACITY
        assert energy.read_status(clock(0), other.pk) == energy.EnergyStatus(100)

    def test_two_that_are_not_full_share_the_refill(self, server_mode, clock, owner, other):
        energy.spend_energy(100, clock(0), owner.pk)
        energy.spend_energy(100, clock(0), other.pk)
        now = clock(1200)
        assert [energy.read_level(now, user.pk) for user in (owner, other)] == [110, 110]
        energy.spend_energy(50, now, owner.pk)
        assert [energy.read_level(now, user.pk) for user in (owner, other)] == [60, 110]

    def test_a_full_level_leaves_its_share_to_the_others(self, server_mode, clock, owner, other):
        energy.spend_energy(100, clock(0), owner.pk)
        energy.spend_energy(10, clock(0), other.pk)
        now = clock(1200)
        assert energy.read_level(now, other.pk) == CAPACITY
        assert energy.read_level(now, owner.pk) == pytest.approx(130)

    def test_the_meter_is_spent_for_whom_the_model_worked(self, server_mode, clock, owner, other):
        meter.background.add(30, str(owner.pk))
        meter.background.add(7, str(other.pk))
        assert energy.read_level(clock(0), owner.pk) == 150
        energy.save_meter(clock(0))
        assert meter.background.read() == 0
        assert dict(Energy.objects.values_list("owner", "level")) == {owner.pk: 150, other.pk: 173}

    def test_in_local_mode_there_is_one_level_whoever_works(self, clock, owner):
        meter.background.add(30, str(owner.pk))
        meter.background.add(7)
        energy.save_meter(clock(0))
        row = Energy.objects.get()
        assert (row.owner, row.level) == (None, 143)
        assert energy.read_level(clock(0), owner.pk) == energy.read_level(clock(0)) == 143

    def test_the_waiting_jobs_of_a_person_are_their_own(self, server_mode, clock, owner, other):
        energy.spend_energy(170, clock(0), owner.pk)
        for user in (owner, other):
            jobs.enqueue("extract", {"conversation": "x"}, key=f"extract:{user.pk}", owner_id=user.pk)
        assert energy.read_status(clock(0), owner.pk).waiting == 1
        assert energy.read_status(clock(0)).waiting == 2

    def test_a_clock_that_was_set_back_does_not_block_anybody(self, server_mode, clock, owner, other):
        energy.spend_energy(170, clock(86400), owner.pk)
        energy.spend_energy(170, clock(0), other.pk)
        now = clock(-86400)
        assert energy.find_low_owners(now).keys() == {owner.pk, other.pk}
        assert energy.find_low_owners(clock(3600 * 2)) == {}


@pytest.mark.django_db
class TestTurns:
    """Background jobs go round by owner."""

    @pytest.fixture
    def claimed(self, monkeypatch):
        """Return a function that claims the due jobs one by one and returns their owners."""
        monkeypatch.setattr(jobs, "_turns", jobs.Turns())

        def claim_all(**options) -> list[int | None]:
            found = []
            while (job := jobs.claim(["extract", "tidy_index"], timezone.now(), **options)) is not None:
                found.append(job.owner_id)
                job.delete()
            return found

        return claim_all

    def test_owners_take_turns(self, server_mode, clock, owner, other, claimed):
        for number, user in enumerate([owner, owner, owner, other, other, None]):
            jobs.enqueue("extract", {}, key=f"{number}", owner_id=user and user.pk)
        clock(1)
        assert claimed() == [owner.pk, other.pk, None, owner.pk, other.pk, owner.pk]

    def test_urgent_jobs_of_anybody_go_first(self, server_mode, clock, owner, other, claimed):
        jobs.enqueue("extract", {}, key="1", owner_id=other.pk)
        jobs.enqueue("extract", {}, key="2", owner_id=owner.pk, priority=jobs.URGENT)
        jobs.enqueue("extract", {}, key="3", owner_id=owner.pk, priority=jobs.URGENT)
        clock(1)
        assert claimed() == [owner.pk, owner.pk, other.pk]

    def test_jobs_of_a_resting_owner_wait_unless_they_need_no_energy(
        self, server_mode, clock, owner, other, claimed
    ):
        energy.spend_energy(170, clock(0), owner.pk)
        for user in (owner, other):
            jobs.enqueue("extract", {}, key=f"{user.pk}", owner_id=user.pk)
        jobs.enqueue("tidy_index", {}, key="tidy_index", owner_id=owner.pk)
        now = clock(1)
        lane = next(lane for lane in runner.job_threads() if lane.name == "model")
        resting = lane.find_resting(now)
        assert resting.keys() == {owner.pk}
        assert sorted(claimed(resting=resting)) == sorted([other.pk, owner.pk])
        assert Job.objects.get().kind == "extract"
        assert lane.find_next_time(now) == resting[owner.pk]

    def test_in_local_mode_the_first_request_runs_first(self, clock, owner, other, claimed):
        for number, user in enumerate([owner, owner, other]):
            jobs.enqueue("extract", {}, key=f"{number}", owner_id=user.pk)
        clock(1)
        assert claimed() == [owner.pk, owner.pk, other.pk]


@pytest.mark.django_db
def test_a_backlog_of_one_person_does_not_keep_the_titles_of_another_waiting(server_mode, owner, other):
    jobs.enqueue("extract", {}, key="1", owner_id=owner.pk)
    assert jobs.is_due_or_running("extract", owner.pk)
    assert not jobs.is_due_or_running("extract", other.pk)


@pytest.mark.django_db(transaction=True)
def test_work_for_an_account_that_was_deleted_is_dropped(server_mode):
    meter.background.add(3.0, "999999")
    energy.save_meter()
    assert meter.background.take_by_owner() == {}
    assert not Energy.objects.filter(owner_id=999999).exists()
