"""Lost or failed extraction jobs are retried; a message that always fails does not block later ones."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import jobs, unread_messages
from chat.actions.recovery import recover_at_start
from chat.errors import ProviderError
from chat.jobs import runner
from chat.models import Conversation, ExtractionRun, Fact, Job

pytestmark = pytest.mark.django_db
HALF_AN_HOUR = 1800


@pytest.fixture
def sweep_later(clock):
    """Return a function that runs the sweep half an hour later and returns the number of queued jobs."""

    def later() -> int:
        return unread_messages.queue_unread_messages(clock(HALF_AN_HOUR))

    return later


def give_up(clock, scripted) -> None:
    """Let the extraction job fail at every attempt."""
    for _ in range(jobs.MAX_ATTEMPTS):
        scripted.completions.append(ProviderError("verbatim", sentence="The model's engine failed."))
        clock(500)
        runner.run_due({"extract"})
    assert Job.objects.get(kind="extract").failed_at is not None


def test_a_lost_job_is_queued_again(add_exchange, scripted, sweep_later):
    add_exchange("I like chess.")
    Job.objects.all().delete()
    assert sweep_later() == 1
    scripted.completions.append("likes: User likes chess")
    runner.run_due({"extract"})
    assert Fact.objects.get().text == "User likes chess"
    assert sweep_later() == 0


def test_extraction_succeeds_after_a_temporary_engine_failure(clock, add_exchange, scripted, sweep_later):
    add_exchange("I like chess.")
    give_up(clock, scripted)
    assert sweep_later() == 1
    scripted.completions.append("likes: User likes chess")
    runner.run_due({"extract"})
    assert Fact.objects.get().text == "User likes chess"
    assert not ExtractionRun.objects.exclude(error="").exists()


def test_a_message_that_always_fails_is_skipped_with_an_error(clock, add_exchange, scripted, sweep_later):
    chat = add_exchange("I like chess.")
    add_exchange("I play the viola.", chat)
    for _ in range(unread_messages.ROUNDS):
        give_up(clock, scripted)
        sweep_later()
    run = ExtractionRun.objects.get()
    assert run.message.content == "I like chess."
    assert run.error == "extraction-given-up"
    scripted.completions.append("habit: User plays the viola")
    runner.run_due({"extract"})
    assert Fact.objects.get().text == "User plays the viola"


def test_queued_jobs_and_conversations_without_memory_are_not_queued_again(
    add_exchange, scripted, sweep_later
):
    add_exchange("I like chess.")
    before = Job.objects.get(kind="extract").requests
    assert unread_messages.queue_unread_messages(timezone.now()) == 0
    assert Job.objects.get(kind="extract").requests == before
    Job.objects.all().delete()
    Conversation.objects.update(memory_mode="off")
    assert sweep_later() == 0


def test_a_job_that_kills_the_process_is_given_up(add_exchange, scripted, clock):
    add_exchange("I like chess.")
    clock(5)
    for start in range(jobs.MAX_ATTEMPTS):
        recover_at_start(timezone.now())
        assert jobs.claim({"extract"}, timezone.now()) is not None, start
        # The process is killed here, with the lease still held.
    recover_at_start(timezone.now())
    assert jobs.claim({"extract"}, timezone.now()) is None
    job = Job.objects.get(kind="extract")
    assert (job.lease_until, job.last_error) == (None, jobs.PROCESS_ENDED)


def test_deletion_jobs_are_retried_at_every_start(db):
    jobs.enqueue("finish_deletion", {"deletion": "00000000-0000-0000-0000-000000000000"})
    Job.objects.update(attempts=9, lease_until=timezone.now())
    assert jobs.release_leases(timezone.now()) == 0
    assert jobs.claim({"finish_deletion"}, timezone.now()) is not None
