"""From a message that was sent to facts in memory, without anybody asking for it."""

from __future__ import annotations

import threading

import pytest
from django.utils import timezone

from chat.actions import messages as actions
from chat.generation import run as generation
from chat.jobs import runner
from chat.llm.registry import registry
from chat.llm.state import ModelState, Status
from chat.llm.types import PromptTooLong, ProviderError
from chat.models import Conversation, ExtractionRun, Fact, FactEvent, Job, UsageRecord

from .looking import look

pytestmark = pytest.mark.django_db

MAYA = (
    "Hi, I'm Maya, a React developer in Copenhagen. I'm building a local-first chat app and I prefer short "
    "answers."
)
NOTES = {
    "Maya": "name: User is called Maya",
    "React": "job: User is a React developer",
    "Copenhagen": "home: User lives in Copenhagen",
    "building": "building: User is building a local-first chat app",
    "short": "reply_style: User prefers short answers",
}


def notes(turns) -> str:
    """Answer as a good model would: a line for each thing that the last turn says."""
    said = turns[-1].content
    return "\n".join(line for word, line in NOTES.items() if word in said) or "none"


def looks_asked():
    """Return the jobs of looking, without those of ending a conversation."""
    return Job.objects.filter(kind__in=["extract", "settle"])


def texts() -> set[str]:
    return set(Fact.objects.live().values_list("text", flat=True))


def test_what_maya_says_becomes_facts_on_all_three_shelves(clock, say, scripted):
    conversation = say(MAYA)
    scripted.completions.extend([notes] * 5)
    look(clock)
    facts = {f.kind: f for f in Fact.objects.live()}
    assert facts.keys() == {"name", "job", "home", "building", "reply_style"}
    assert {f.category for f in facts.values()} == {"identity", "project", "preference"}
    assert "Copenhagen" in facts["home"].text
    assert facts["home"].quote in MAYA
    assert all(f.source_conversation == conversation for f in facts.values())
    assert not looks_asked().exists()
    run = ExtractionRun.objects.get()
    assert (run.stored, run.error) == (5, "")
    usage = set(UsageRecord.objects.values_list("purpose", "lane"))
    assert usage == {("extract", "background")}


def test_memory_looks_when_it_has_been_quiet_for_two_seconds_and_not_before(clock, say, scripted):
    say(MAYA)
    scripted.completions.extend([notes] * 5)
    clock(1.9)
    assert runner.run_due(["extract"]) == 0
    clock(0.1)
    assert runner.run_due(["extract"]) == 1


def test_each_message_is_looked_at_once_however_often_memory_is_asked(clock, say, scripted):
    conversation = say("I like chess.")
    scripted.completions.append("likes: User likes chess")
    look(clock)
    actions.ask_for_look(conversation)
    look(clock)
    conversation.refresh_from_db()
    assert conversation.extracted_through == 1
    assert len(scripted.calls) == ExtractionRun.objects.count() == 1


def test_messages_are_looked_at_one_at_a_time_oldest_first(clock, say, scripted):
    say("And I play tennis.", say("I like chess."))
    scripted.completions.extend(["likes: User likes chess", "habit: User plays tennis"])
    look(clock)
    assert [c.turns[-1].content.splitlines()[-1] for c in scripted.calls] == [
        "I like chess.",
        "And I play tennis.",
    ]
    assert texts() == {"User likes chess", "User plays tennis"}


def test_only_what_the_user_said_is_looked_at(clock, talk, scripted):
    asked, reply = talk("I like chess.")
    actions.finish_reply(reply, "You live in Paris and love cheese.", "complete")
    scripted.completions.append(
        "likes: User likes chess\nhome: User lives in Paris\nlikes: User loves cheese"
    )
    look(clock)
    assert texts() == {"User likes chess"}
    assert len(ExtractionRun.objects.get(message=asked).refused) == 2


def test_a_process_killed_between_two_messages_goes_on_with_the_second(clock, say, scripted):
    class Killed(BaseException):
        """What no handler catches, as no handler survives a kill."""

    def kill(turns):
        raise Killed

    say("And I play tennis.", say("I like chess."))
    scripted.completions.extend(["likes: User likes chess", kill])
    clock(2)
    with pytest.raises(Killed):
        runner.run_due(["extract"])
    assert texts() == {"User likes chess"}
    assert looks_asked().get().lease_until is not None

    # The next process: leases are freed, the job is still there.
    from chat.actions import jobs

    jobs.release_leases(timezone.now())
    scripted.completions.append("habit: User plays tennis")
    runner.run_due(["extract"])
    assert texts() == {"User likes chess", "User plays tennis"}
    assert all(f.mention_count == 1 for f in Fact.objects.all())
    assert FactEvent.objects.count() == 2
    assert not looks_asked().exists()


@pytest.mark.parametrize("mode", ["off", "read_only"])
def test_nothing_is_learned_while_memory_is_off_or_read_only(clock, say, scripted, mode):
    conversation = say("Hello there.")
    look(clock)
    Conversation.objects.update(memory_mode=mode)
    scripted.calls.clear()
    conversation.refresh_from_db()
    say("I like chess.", conversation)
    actions.ask_for_look(conversation)
    look(clock)
    assert scripted.calls == []
    assert texts() == set()


@pytest.mark.parametrize("mode", ["off", "read_only"])
def test_what_was_said_meanwhile_is_not_learned_later_either(clock, say, scripted, mode):
    say("Hello there.")
    look(clock)
    Conversation.objects.update(memory_mode=mode)
    say("I like chess.", Conversation.objects.get())
    Conversation.objects.update(memory_mode="on")
    say("I play tennis.", Conversation.objects.get())
    scripted.completions.append("habit: User plays tennis")
    scripted.calls.clear()
    look(clock)
    assert len(scripted.calls) == 1
    assert texts() == {"User plays tennis"}


def test_an_error_of_the_provider_is_kept_and_tried_again(clock, say, scripted):
    say("I like chess.")
    scripted.completions.extend([ProviderError("The engine tripped."), "likes: User likes chess"])
    look(clock)
    job = looks_asked().get()
    assert "The engine tripped." in job.last_error
    assert texts() == set()
    clock(10)
    runner.run_due(["extract"])
    assert texts() == {"User likes chess"}
    assert not looks_asked().exists()


def test_an_answer_that_cannot_be_read_twice_is_recorded_and_not_guessed(clock, say, scripted):
    say("I like chess.")
    scripted.completions.extend(["The user likes chess!", "As I said: chess."])
    look(clock)
    run = ExtractionRun.objects.get()
    assert "could not be read" in run.error
    assert texts() == set()
    assert not looks_asked().exists()


def test_while_the_model_is_not_there_the_look_waits_and_is_not_lost(clock, say, scripted):
    say("I like chess.")
    registry._set(Status(ModelState.LOADING, sentence="The model is loading."))
    for _ in range(8):
        clock(60)
        runner.run_due(["extract"])
    job = looks_asked().get()
    assert (job.attempts, job.last_error, job.failed_at) == (0, "", None)
    registry.use(scripted)
    scripted.completions.append("likes: User likes chess")
    clock(60)
    runner.run_due(["extract"])
    assert texts() == {"User likes chess"}


def test_a_message_that_never_fits_is_recorded_and_the_next_one_has_its_turn(clock, say, scripted):
    say("I play tennis.", say("I like chess."))
    scripted.completions.extend([PromptTooLong("Too long."), "habit: User plays tennis"])
    look(clock)
    assert ExtractionRun.objects.get(error="Too long.").stored == 0
    assert texts() == {"User plays tennis"}


def test_a_conversation_that_has_gone_leaves_no_job_behind(clock, say, scripted):
    say("I like chess.").delete()
    look(clock)
    assert not looks_asked().exists()


def test_a_fact_added_by_hand_is_sorted_by_the_model(ours, owner, scripted):
    ours.post("/memory/add/", {"text": "Tea, every single morning"})
    scripted.completions.append("habit: User drinks tea every morning")
    runner.run_due(["settle"])
    fact = Fact.objects.get()
    assert fact.category == "preference"
    assert fact.text == "Tea, every single morning"
    assert scripted.calls[-1].lane.name == "INTERACTIVE"
    assert not looks_asked().exists()


@pytest.mark.django_db(transaction=True)
def test_while_a_reply_is_being_written_the_look_waits(talk, scripted):
    scripted.gate = threading.Semaphore(0)
    asked, reply = talk("I like chess.")
    generation.start(reply)
    looks_asked().update(run_after=asked.created_at)
    assert runner.run_one(["extract"])
    job = looks_asked().get()
    assert (job.attempts, job.last_error, job.lease_until) == (0, "", None)
    assert job.run_after > asked.created_at
    assert not ExtractionRun.objects.exists()
    scripted.gate.release(99)
    generation.wait()
    scripted.completions.append("likes: User likes chess")
    looks_asked().update(run_after=asked.created_at)
    assert runner.run_one(["extract"])
    assert texts() == {"User likes chess"}
