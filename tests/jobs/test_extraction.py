"""Extraction turns sent messages into stored facts without an explicit request."""

from __future__ import annotations

import threading

import pytest
from django.utils import timezone

from chat.actions import conversation_jobs
from chat.actions import messages as actions
from chat.errors import PromptTooLong, ProviderError, Reason
from chat.generation import run as generation
from chat.jobs import runner
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.models import Conversation, ExtractionRun, Fact, FactEvent, Job, UsageRecord

from .run_extraction import run_extraction_jobs

pytestmark = pytest.mark.django_db

MAYA = (
    "Hi, I'm Maya, a React developer in Copenhagen. I'm building a local-first chat app and I prefer short "
    "answers."
)
FACT_LINES = {
    "Maya": "name: User is called Maya",
    "React": "job: User is a React developer",
    "Copenhagen": "home: User lives in Copenhagen",
    "building": "building: User is building a local-first chat app",
    "short": "reply_style: User prefers short answers",
}


def answer_with_facts(turns) -> str:
    """Answer like a good model: one line for each fact that the last turn contains."""
    message = turns[-1].content
    return "\n".join(line for word, line in FACT_LINES.items() if word in message) or "none"


def extraction_jobs():
    """Return the queued extraction and classification jobs."""
    return Job.objects.filter(kind__in=["extract", "settle"])


def live_texts() -> set[str]:
    return set(Fact.objects.live().values_list("text", flat=True))


def test_one_message_becomes_facts_in_all_three_categories(clock, add_exchange, scripted):
    conversation = add_exchange(MAYA)
    scripted.completions.extend([answer_with_facts] * 5)
    run_extraction_jobs(clock)
    facts = {f.kind: f for f in Fact.objects.live()}
    assert facts.keys() == {"name", "job", "home", "building", "reply_style"}
    assert {f.category for f in facts.values()} == {"identity", "project", "preference"}
    assert "Copenhagen" in facts["home"].text
    assert facts["home"].quote in MAYA
    assert all(f.source_conversation == conversation for f in facts.values())
    assert not extraction_jobs().exists()
    run = ExtractionRun.objects.get()
    assert (run.stored, run.error) == (5, "")
    usage = set(UsageRecord.objects.values_list("purpose", "lane"))
    assert usage == {("extract", "background")}


def test_extraction_runs_two_seconds_after_the_last_message(clock, add_exchange, scripted):
    add_exchange(MAYA)
    scripted.completions.extend([answer_with_facts] * 5)
    clock(1.9)
    assert runner.run_due(["extract"]) == 0
    clock(0.1)
    assert runner.run_due(["extract"]) == 1


def test_each_message_is_extracted_once(clock, add_exchange, scripted):
    conversation = add_exchange("I like chess.")
    scripted.completions.append("likes: User likes chess")
    run_extraction_jobs(clock)
    conversation_jobs.queue_extraction(conversation)
    run_extraction_jobs(clock)
    conversation.refresh_from_db()
    assert conversation.extracted_through == 1
    assert len(scripted.calls) == ExtractionRun.objects.count() == 1


def test_messages_are_extracted_one_at_a_time_oldest_first(clock, add_exchange, scripted):
    add_exchange("And I play tennis.", add_exchange("I like chess."))
    scripted.completions.extend(["likes: User likes chess", "habit: User plays tennis"])
    run_extraction_jobs(clock)
    assert [c.turns[-1].content.splitlines()[-1] for c in scripted.calls] == [
        "I like chess.",
        "And I play tennis.",
    ]
    assert live_texts() == {"User likes chess", "User plays tennis"}


def test_facts_from_the_reply_are_refused(clock, talk, scripted):
    asked, reply = talk("I like chess.")
    actions.finish_reply(reply, "You live in Paris and love cheese.", "complete")
    scripted.completions.append(
        "likes: User likes chess\nhome: User lives in Paris\nlikes: User loves cheese"
    )
    run_extraction_jobs(clock)
    assert live_texts() == {"User likes chess"}
    assert len(ExtractionRun.objects.get(message=asked).refused) == 2


def test_extraction_continues_after_a_kill_between_two_messages(clock, add_exchange, scripted):
    class Killed(BaseException):
        """An exception that no handler catches, like the kill of a process."""

    def kill(turns):
        raise Killed

    add_exchange("And I play tennis.", add_exchange("I like chess."))
    scripted.completions.extend(["likes: User likes chess", kill])
    clock(2)
    with pytest.raises(Killed):
        runner.run_due(["extract"])
    assert live_texts() == {"User likes chess"}
    assert extraction_jobs().get().lease_until is not None

    # The next process releases the leases; the job is still queued.
    from chat.actions import jobs

    jobs.release_leases(timezone.now())
    scripted.completions.append("habit: User plays tennis")
    runner.run_due(["extract"])
    assert live_texts() == {"User likes chess", "User plays tennis"}
    assert all(f.mention_count == 1 for f in Fact.objects.all())
    assert FactEvent.objects.count() == 2
    assert not extraction_jobs().exists()


@pytest.mark.parametrize("mode", ["off", "read_only"])
def test_nothing_is_extracted_while_memory_is_off_or_read_only(clock, add_exchange, scripted, mode):
    conversation = add_exchange("Hello there.")
    run_extraction_jobs(clock)
    Conversation.objects.update(memory_mode=mode)
    scripted.calls.clear()
    conversation.refresh_from_db()
    add_exchange("I like chess.", conversation)
    conversation_jobs.queue_extraction(conversation)
    run_extraction_jobs(clock)
    assert scripted.calls == []
    assert live_texts() == set()


@pytest.mark.parametrize("mode", ["off", "read_only"])
def test_messages_sent_while_memory_was_off_are_not_extracted_later(clock, add_exchange, scripted, mode):
    add_exchange("Hello there.")
    run_extraction_jobs(clock)
    Conversation.objects.update(memory_mode=mode)
    add_exchange("I like chess.", Conversation.objects.get())
    Conversation.objects.update(memory_mode="on")
    add_exchange("I play tennis.", Conversation.objects.get())
    scripted.completions.append("habit: User plays tennis")
    scripted.calls.clear()
    run_extraction_jobs(clock)
    assert len(scripted.calls) == 1
    assert live_texts() == {"User plays tennis"}


def test_a_provider_error_is_stored_and_the_job_is_retried(clock, add_exchange, scripted):
    add_exchange("I like chess.")
    scripted.completions.extend(
        [ProviderError("verbatim", sentence="The engine tripped."), "likes: User likes chess"]
    )
    run_extraction_jobs(clock)
    job = extraction_jobs().get()
    assert "The engine tripped." in job.last_error
    assert live_texts() == set()
    clock(10)
    runner.run_due(["extract"])
    assert live_texts() == {"User likes chess"}
    assert not extraction_jobs().exists()


def test_two_unreadable_answers_are_recorded_as_an_error(clock, add_exchange, scripted):
    add_exchange("I like chess.")
    scripted.completions.extend(["The user likes chess!", "As I said: chess."])
    run_extraction_jobs(clock)
    run = ExtractionRun.objects.get()
    assert run.error == "extraction-unreadable"
    assert live_texts() == set()
    assert not extraction_jobs().exists()


def test_extraction_waits_while_the_model_is_loading(clock, add_exchange, scripted):
    add_exchange("I like chess.")
    registry.set_status(ModelStatus(ModelState.LOADING, reason=Reason("model-loading")))
    for _ in range(8):
        clock(60)
        runner.run_due(["extract"])
    job = extraction_jobs().get()
    assert (job.attempts, job.last_error, job.failed_at) == (0, "", None)
    registry.use(scripted)
    scripted.completions.append("likes: User likes chess")
    clock(60)
    runner.run_due(["extract"])
    assert live_texts() == {"User likes chess"}


def test_a_message_that_is_too_long_is_recorded_and_skipped(clock, add_exchange, scripted):
    add_exchange("I play tennis.", add_exchange("I like chess."))
    scripted.completions.extend([PromptTooLong("conversation-too-long"), "habit: User plays tennis"])
    run_extraction_jobs(clock)
    assert ExtractionRun.objects.get(error="conversation-too-long").stored == 0
    assert live_texts() == {"User plays tennis"}


def test_the_job_of_a_deleted_conversation_is_deleted(clock, add_exchange, scripted):
    add_exchange("I like chess.").delete()
    run_extraction_jobs(clock)
    assert not extraction_jobs().exists()


def test_an_added_fact_is_classified_by_the_model(ours, owner, scripted):
    ours.post("/memory/add/", {"text": "Tea, every single morning"})
    scripted.completions.append("habit: User drinks tea every morning")
    runner.run_due(["settle"])
    fact = Fact.objects.get()
    assert fact.category == "preference"
    assert fact.text == "Tea, every single morning"
    assert scripted.calls[-1].lane.name == "INTERACTIVE"
    assert not extraction_jobs().exists()


@pytest.mark.django_db(transaction=True)
def test_extraction_waits_while_a_reply_is_running(talk, scripted):
    scripted.gate = threading.Semaphore(0)
    asked, reply = talk("I like chess.")
    generation.start(reply)
    extraction_jobs().update(run_after=asked.created_at)
    assert runner.run_one(["extract"])
    job = extraction_jobs().get()
    assert (job.attempts, job.last_error, job.lease_until) == (0, "", None)
    assert job.run_after > asked.created_at
    assert not ExtractionRun.objects.exists()
    scripted.gate.release(99)
    generation.wait_all()
    scripted.completions.append("likes: User likes chess")
    extraction_jobs().update(run_after=asked.created_at)
    assert runner.run_one(["extract"])
    assert live_texts() == {"User likes chess"}
