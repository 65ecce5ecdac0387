"""At 20 % of energy and below background work waits, and is not lost; what the user asked for never waits."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import conversations, energy, jobs
from chat.actions import messages as actions
from chat.actions.facts import add_fact
from chat.actions.owners import default_app
from chat.jobs import runner
from chat.llm.types import Lane
from chat.models import Conversation, Deletion, Energy, Fact, Job, MemoryMode, Message, Topic, UsageRecord
from tests.minutes import minutes

pytestmark = pytest.mark.django_db
# 36 units are 20 %; one unit less takes 20 s to come back.
LOW = 35.0
WAIT = 21


@pytest.fixture(autouse=True)
def low(clock, scripted):
    """Energy is low from the first moment on, and a call takes three seconds."""
    scripted.seconds = lambda call: 3.0
    Energy.objects.create(level=LOW, measured_at=timezone.now())
    return scripted


def of(kind: str) -> Job:
    return Job.objects.get(kind=kind)


def is_read(conversation: Conversation) -> bool:
    return not conversation.messages.unread_by_memory(Conversation.objects.get(pk=conversation.pk)).exists()


def test_a_look_waits_until_there_is_enough_and_then_takes_its_energy(clock, say, scripted):
    conversation = say("I like chess.")
    now = clock(2)
    assert runner.run_due() == 0
    assert scripted.calls == []
    until = of("extract").run_after
    assert now < until <= now + timedelta(seconds=WAIT)
    assert of("extract").attempts == 0
    clock((until - now).total_seconds())
    scripted.completions.append("likes: User likes chess")
    runner.run_due(["extract"])
    assert is_read(conversation)
    assert Fact.objects.get().text == "User likes chess"
    assert energy.level_now(timezone.now()) == pytest.approx(36 - 3, abs=0.1)
    assert UsageRecord.objects.get(purpose="extract").energy == 3.0


def test_a_look_at_several_messages_stops_between_two_of_them_and_goes_on_there(clock, say, scripted):
    conversation = say("I like chess.")
    say("I like tea.", conversation)
    say("I like go.", conversation)
    Energy.objects.update(level=40)
    clock(2)
    runner.run_due(["extract"])
    assert len(scripted.calls) == 2
    assert Conversation.objects.get().extracted_through == 3
    clock(3600)
    runner.run_due(["extract"])
    assert is_read(conversation)
    assert len(scripted.calls) == 3


def test_neither_a_backlog_nor_a_page_that_is_left_makes_it_hurry(clock, say, scripted):
    conversation = say("One.")
    for text in ("Two.", "Three.", "Four.", "Five."):
        say(text, conversation)
    actions.flush(conversation.pk)
    runner.run_due(["extract"])
    assert scripted.calls == []


def test_remember_that_never_waits_nor_does_what_stands_before_it(clock, say, scripted):
    conversation = say("I like chess.")
    clock(2)
    runner.run_due(["extract"])
    say("Remember that I live in Oslo.", conversation)
    runner.run_due(["extract"])
    assert is_read(conversation)
    assert [call.lane for call in scripted.calls] == [Lane.BACKGROUND, Lane.INTERACTIVE]
    # Only the first of the two took energy.
    assert energy.level_now(timezone.now()) == pytest.approx(LOW - 3 + 0.1, abs=0.05)


def test_a_fact_written_in_the_panel_is_sorted_at_once_and_takes_no_energy(owner, scripted):
    scripted.completions.append("like")
    add_fact(owner, "Flurbulent zorbs")
    runner.run_due(["settle"])
    assert len(scripted.calls) == 1
    assert energy.level_now(timezone.now()) == LOW


def test_a_title_waits(clock, say, scripted):
    say("How do I grow tomatoes on a balcony?")
    Job.objects.filter(kind="extract").delete()
    clock(5)
    runner.run_due(["title"])
    assert scripted.calls == []
    clock(WAIT)
    scripted.titles.append("Tomatoes on a balcony")
    runner.run_due(["title"])
    assert Conversation.objects.get().title == "Tomatoes on a balcony"


@pytest.fixture
def long(owner, scripted):
    """A conversation that is near to its window, with the request to make its next prompt ready."""
    scripted.context_window = 2048
    scripted.default_completion = minutes
    talked = Conversation.objects.create(owner=owner, app=default_app(owner))
    Message.objects.bulk_create(
        Message(
            conversation=talked, seq=n, role="user" if n % 2 else "assistant", content=f"{n} " + "x" * 240
        )
        for n in range(1, 25)
    )
    key = str(talked.pk)
    jobs.enqueue("prepare", {"conversation": key, "tokens": 1900, "window": 2048}, key=f"prepare:{key}")
    return talked


def test_a_summary_waits_and_goes_on_where_it_stopped(clock, long, scripted):
    runner.run_due(["prepare"])
    assert scripted.calls == []
    clock(WAIT)
    runner.run_due(["prepare"])
    long.refresh_from_db()
    assert len(scripted.calls) == 1
    first = long.summarised_through
    assert first > 0
    assert of("prepare").run_after > timezone.now()
    clock(3600)
    runner.run_due(["prepare"])
    long.refresh_from_db()
    assert long.summarised_through > first
    assert not Job.objects.filter(kind="prepare").exists()


def test_an_app_memory_waits(clock, say, scripted):
    conversation = say(
        "I'm planning a trip to Lisbon in May with my sister, and we need a quiet room near the river."
    )
    Job.objects.filter(kind="extract").delete()
    conversations.end(conversation)
    Job.objects.filter(kind="extract").delete()
    Job.objects.update(run_after=clock(1))
    runner.run_due(["app_memory"])
    assert scripted.calls == []
    assert of("app_memory").run_after > timezone.now()
    clock(WAIT)
    runner.run_due(["app_memory"])
    assert len(scripted.calls) >= 1
    assert not Job.objects.filter(kind="app_memory").exists()


def test_a_prompt_is_not_read_in_advance(clock, long):
    jobs.enqueue("warm", {"conversation": str(long.pk)}, key=f"warm:{long.pk}")
    runner.run_due(["warm"])
    assert of("warm").run_after > timezone.now()


def test_what_needs_no_model_never_waits(clock, owner, make_fact, say, scripted):
    conversation = say("Hello")
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
    Energy.objects.update(level=LOW, measured_at=timezone.now())
    runner.run_due()
    assert not Fact.objects.filter(pk=fact.pk).exists()
    assert Conversation.objects.get().ended_at is not None
    assert set(Job.objects.values_list("kind", flat=True)) <= {"nightly", "warm"}
    assert not Job.objects.filter(run_after__lte=timezone.now()).exists()


def test_each_kind_that_may_wait_is_a_kind_of_job():
    from chat.jobs.registry import HANDLERS

    assert energy.SPENDING.keys() <= HANDLERS.keys()


def test_jobs_that_wait_are_not_taken_up_again_and_again(clock, say, scripted):
    for n in range(3):
        say(f"I like the number {n}.")
    now = clock(60)
    Energy.objects.update(level=LOW, measured_at=now)
    usual = next(lane for lane in runner.lanes() if lane.name == "model")
    assert "extract" not in usual.able(now)
    assert usual.next_time(now) > now
    assert "extract" in usual.able(clock(WAIT))
    assert set(Job.objects.filter(kind="extract").values_list("attempts", flat=True)) == {0}
