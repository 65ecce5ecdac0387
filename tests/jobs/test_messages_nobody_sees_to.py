"""A message whose look was lost or has given up is read later; one that cannot be read holds up no other."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import jobs, overdue
from chat.jobs import runner
from chat.jobs.recovery import recover
from chat.llm.types import ProviderError
from chat.models import Conversation, ExtractionRun, Fact, Job

pytestmark = pytest.mark.django_db
HALF_AN_HOUR = 1800


@pytest.fixture
def sweep(clock):
    """Returns what happens half an hour later."""

    def later() -> int:
        return overdue.see_to_unread(clock(HALF_AN_HOUR))

    return later


def give_up(clock, scripted) -> None:
    """Let the look fail as often as it is tried."""
    for _ in range(jobs.MAX_ATTEMPTS):
        scripted.completions.append(ProviderError("The model's engine failed."))
        clock(500)
        runner.run_due({"extract"})
    assert Job.objects.get(kind="extract").failed_at is not None


def test_a_lost_job_is_asked_for_again(say, scripted, sweep):
    say("I like chess.")
    Job.objects.all().delete()
    assert sweep() == 1
    scripted.completions.append("likes: User likes chess")
    runner.run_due({"extract"})
    assert Fact.objects.get().text == "User likes chess"
    assert sweep() == 0


def test_an_engine_that_was_away_for_a_while_costs_nothing(clock, say, scripted, sweep):
    say("I like chess.")
    give_up(clock, scripted)
    assert sweep() == 1
    scripted.completions.append("likes: User likes chess")
    runner.run_due({"extract"})
    assert Fact.objects.get().text == "User likes chess"
    assert not ExtractionRun.objects.exclude(error="").exists()


def test_a_message_that_fails_each_time_is_passed_over_and_says_so(clock, say, scripted, sweep):
    chat = say("I like chess.")
    say("I play the viola.", chat)
    for _ in range(overdue.ROUNDS):
        give_up(clock, scripted)
        sweep()
    look = ExtractionRun.objects.get()
    assert look.message.content == "I like chess."
    assert "goes on without it" in look.error
    scripted.completions.append("habit: User plays the viola")
    runner.run_due({"extract"})
    assert Fact.objects.get().text == "User plays the viola"


def test_what_waits_or_need_not_be_read_is_left_alone(say, scripted, sweep):
    say("I like chess.")
    before = Job.objects.get(kind="extract").requests
    assert overdue.see_to_unread(timezone.now()) == 0
    assert Job.objects.get(kind="extract").requests == before
    Job.objects.all().delete()
    Conversation.objects.update(memory_mode="off")
    assert sweep() == 0


def test_a_message_at_which_the_program_dies_is_not_tried_at_every_start(say, scripted, clock):
    say("I like chess.")
    clock(5)
    for start in range(jobs.MAX_ATTEMPTS):
        recover(timezone.now())
        assert jobs.claim({"extract"}, timezone.now()) is not None, start
        # … and here the process ends.
    recover(timezone.now())
    assert jobs.claim({"extract"}, timezone.now()) is None
    job = Job.objects.get(kind="extract")
    assert (job.lease_until, job.last_error) == (None, jobs.ENDED_WITH_IT)


def test_what_was_promised_is_tried_at_every_start(db):
    jobs.enqueue("finish_deletion", {"deletion": "00000000-0000-0000-0000-000000000000"})
    Job.objects.update(attempts=9, lease_until=timezone.now())
    assert jobs.release_leases(timezone.now()) == 0
    assert jobs.claim({"finish_deletion"}, timezone.now()) is not None
