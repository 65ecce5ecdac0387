"""Background jobs wait while energy is at most 20 %; work that the user requested never waits."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import conversation_jobs, conversations, energy, jobs
from chat.actions.facts import add_fact
from chat.actions.owners import default_app
from chat.jobs import runner
from chat.llm.types import Lane
from chat.models import Conversation, Deletion, Energy, Fact, Job, MemoryMode, Message, Topic, UsageRecord
from tests.scripted_summary import summarise_turns

pytestmark = pytest.mark.django_db
# 36 units are 20 % of the capacity; a unit refills in 20 s.
LOW_LEVEL = 35.0
REFILL_SECONDS = 21


@pytest.fixture(autouse=True)
def low(clock, scripted):
    """Energy is low from the start, and each model call takes three seconds."""
    scripted.seconds = lambda call: 3.0
    Energy.objects.create(pk=1, level=LOW_LEVEL, measured_at=timezone.now())
    return scripted


def get_job(kind: str) -> Job:
    return Job.objects.get(kind=kind)


def is_extracted(conversation: Conversation) -> bool:
    return not conversation.messages.not_extracted(Conversation.objects.get(pk=conversation.pk)).exists()


def test_extraction_waits_for_energy_and_then_spends_it(clock, add_exchange, scripted):
    conversation = add_exchange("I like chess.")
    now = clock(2)
    assert runner.run_due(["extract"]) == 0
    assert scripted.calls == []
    until = get_job("extract").run_after
    assert now < until <= now + timedelta(seconds=REFILL_SECONDS)
    assert get_job("extract").attempts == 0
    clock((until - now).total_seconds())
    scripted.completions.append("likes: User likes chess")
    runner.run_due(["extract"])
    assert is_extracted(conversation)
    assert Fact.objects.get().text == "User likes chess"
    assert energy.read_level(timezone.now()) == pytest.approx(36 - 3, abs=0.1)
    assert UsageRecord.objects.get(purpose="extract").energy == 3.0


def test_extraction_of_several_messages_pauses_between_messages(clock, add_exchange, scripted):
    conversation = add_exchange("I like chess.")
    add_exchange("I like tea.", conversation)
    add_exchange("I like go.", conversation)
    Energy.objects.update(level=40)
    clock(2)
    runner.run_due(["extract"])
    assert len(scripted.calls) == 2
    assert Conversation.objects.get().extracted_through == 3
    clock(3600)
    runner.run_due(["extract"])
    assert is_extracted(conversation)
    assert len(scripted.calls) == 3


def test_a_backlog_or_flush_does_not_bypass_the_energy_gate(clock, add_exchange, scripted):
    conversation = add_exchange("One.")
    for text in ("Two.", "Three.", "Four.", "Five."):
        add_exchange(text, conversation)
    conversation_jobs.flush_extraction(conversation.pk)
    runner.run_due(["extract"])
    assert scripted.calls == []


def test_an_explicit_request_and_earlier_messages_do_not_wait(clock, add_exchange, scripted):
    conversation = add_exchange("I like chess.")
    clock(2)
    runner.run_due(["extract"])
    add_exchange("Remember that I live in Oslo.", conversation)
    runner.run_due(["extract"])
    assert is_extracted(conversation)
    assert [call.lane for call in scripted.calls] == [Lane.BACKGROUND, Lane.INTERACTIVE]
    # Only the background call took energy.
    assert energy.read_level(timezone.now()) == pytest.approx(LOW_LEVEL - 3 + 0.1, abs=0.05)


def test_classifying_an_added_fact_does_not_wait_or_spend_energy(owner, scripted):
    scripted.completions.append("like")
    add_fact(owner, "Flurbulent zorbs")
    runner.run_due(["settle"])
    assert len(scripted.calls) == 1
    assert energy.read_level(timezone.now()) == LOW_LEVEL


def test_titles_wait_for_energy(clock, add_exchange, scripted):
    add_exchange("How do I grow tomatoes on a balcony?")
    Job.objects.filter(kind="extract").delete()
    clock(5)
    runner.run_due(["title"])
    assert scripted.calls == []
    clock(REFILL_SECONDS)
    scripted.titles.append("Tomatoes on a balcony")
    runner.run_due(["title"])
    assert Conversation.objects.get().title == "Tomatoes on a balcony"


@pytest.fixture
def long_conversation(owner, scripted):
    """A conversation close to its context window, with a queued job that prepares its next prompt."""
    scripted.context_window = 2048
    scripted.default_completion = summarise_turns
    conversation = Conversation.objects.create(owner=owner, app=default_app(owner))
    Message.objects.bulk_create(
        Message(
            conversation=conversation,
            seq=n,
            role="user" if n % 2 else "assistant",
            content=f"{n} " + "x" * 240,
        )
        for n in range(1, 25)
    )
    key = str(conversation.pk)
    jobs.enqueue("prepare", {"conversation": key, "tokens": 1900, "window": 2048}, key=f"prepare:{key}")
    return conversation


def test_summaries_wait_for_energy_and_continue(clock, long_conversation, scripted):
    runner.run_due(["prepare"])
    assert scripted.calls == []
    clock(REFILL_SECONDS)
    runner.run_due(["prepare"])
    long_conversation.refresh_from_db()
    assert len(scripted.calls) == 1
    first = long_conversation.summarised_through
    assert first > 0
    assert get_job("prepare").run_after > timezone.now()
    clock(3600)
    runner.run_due(["prepare"])
    long_conversation.refresh_from_db()
    assert long_conversation.summarised_through > first
    assert not Job.objects.filter(kind="prepare").exists()


def test_app_memories_wait_for_energy(clock, add_exchange, scripted):
    conversation = add_exchange(
        "I'm planning a trip to Lisbon in May with my sister, and we need a quiet room near the river."
    )
    Job.objects.filter(kind="extract").delete()
    conversations.end_conversation(conversation)
    Job.objects.filter(kind="extract").delete()
    Job.objects.update(run_after=clock(1))
    runner.run_due(["app_memory"])
    assert scripted.calls == []
    assert get_job("app_memory").run_after > timezone.now()
    clock(REFILL_SECONDS)
    runner.run_due(["app_memory"])
    assert len(scripted.calls) >= 1
    assert not Job.objects.filter(kind="app_memory").exists()


def test_prewarming_waits_for_energy(clock, long_conversation):
    jobs.enqueue("warm", {"conversation": str(long_conversation.pk)}, key=f"warm:{long_conversation.pk}")
    runner.run_due(["warm"])
    assert get_job("warm").run_after > timezone.now()


def test_jobs_without_model_calls_do_not_wait(clock, owner, make_fact, add_exchange, scripted):
    conversation = add_exchange("Hello")
    Conversation.objects.update(memory_mode=MemoryMode.OFF)
    Job.objects.all().delete()
    deletion = Deletion.objects.create(owner=owner, pressed_at=timezone.now(), expires_at=timezone.now())
    fact = make_fact("User likes tea", deletion=deletion)
    jobs.enqueue("finish_deletion", {"deletion": str(deletion.pk)})
    jobs.enqueue("catch_up_graph", {})
    jobs.enqueue("nightly", {}, key="nightly")
    jobs.enqueue("end_idle", {"conversation": str(conversation.pk)})
    jobs.enqueue("pack_topic", {"topic": str(Topic.objects.create(conversation=conversation).pk)})
    clock(600)
    Energy.objects.update(level=LOW_LEVEL, measured_at=timezone.now())
    runner.run_due()
    assert not Fact.objects.filter(pk=fact.pk).exists()
    assert Conversation.objects.get().ended_at is not None
    assert set(Job.objects.values_list("kind", flat=True)) <= {"nightly", "warm", "tidy_index"}
    assert not Job.objects.filter(run_after__lte=timezone.now()).exists()


def test_deferrable_kinds_are_job_kinds():
    from chat.jobs.registry import HANDLERS

    assert jobs.DEFERRABLE_KINDS.keys() <= HANDLERS.keys()


def test_waiting_jobs_are_not_claimed_repeatedly(clock, add_exchange, scripted):
    for n in range(3):
        add_exchange(f"I like the number {n}.")
    now = clock(60)
    Energy.objects.update(level=LOW_LEVEL, measured_at=now)
    usual = next(lane for lane in runner.job_threads() if lane.name == "model")
    assert "extract" not in usual.runnable_kinds(now)
    assert usual.find_next_time(now) > now
    assert "extract" in usual.runnable_kinds(clock(REFILL_SECONDS))
    assert set(Job.objects.filter(kind="extract").values_list("attempts", flat=True)) == {0}
