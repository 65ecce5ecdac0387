"""A conversation that ends is remembered by its app: seed 003's scenarios, and what may go wrong."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.utils import timezone

from chat.actions import app_memories, conversations, prompts, rooms
from chat.actions.branches import flag
from chat.context.prompt import build
from chat.generation import run as generation
from chat.jobs.runner import run_due
from chat.llm.types import ProviderError
from chat.models import App, AppMemory, Conversation, Job, Message, UsageRecord

from .remembering import NOTE, TENT, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_once")]


def test_a_memory_is_written_when_a_conversation_ends(remember, scripted):
    chat = remember(TENT, NOTE)
    memory = AppMemory.objects.get()
    assert (memory.content, memory.app, memory.source_conversation) == (NOTE, chat.app, chat)
    assert memory.metadata["through"] == 2
    assert memory.metadata["tags"] == ["needs", "tent", "nine"] or "tent" in memory.metadata["tags"]
    assert 0 <= memory.metadata["importance"] <= 10
    assert UsageRecord.objects.get(purpose="app_memory").lane == "background"
    assert TENT in scripted.calls[-1].turns[-1].content


def test_the_next_conversation_of_the_app_is_told_of_it_in_the_seeds_words(remember, say, scripted):
    remember(TENT, NOTE)
    chat = say("What else should we take along?")
    asked = Message.objects.get(conversation=chat, role="user")
    system = build(chat, asked, scripted).turns[0].content
    today = timezone.now().strftime("%Y-%m-%d")
    assert (
        "(memories for app: General)\n"
        "The following are memories from previous conversations with this app:\n\n"
        f"1. [Created: {today}] {NOTE}\n\n"
        "Use these memories to provide context-aware responses."
    ) in system


def test_no_app_is_told_what_another_remembers_but_core_facts_go_everywhere(
    remember, owner, talk, make_fact, scripted
):
    remember(TENT, NOTE)
    make_fact("User wants answers in French", kind="reply_language")
    work = App.objects.create(owner=owner, slug="work", name="Work")
    asked, _ = talk("What is next?")
    Conversation.objects.filter(pk=asked.conversation_id).update(app=work)
    asked.refresh_from_db()
    prompt = build(Conversation.objects.get(pk=asked.conversation_id), asked, scripted)
    whole = "\n".join(turn.content for turn in prompt.turns)
    assert "answers in French" in whole
    assert "fells" not in whole
    assert "memories for app" not in whole


def test_a_conversation_is_not_told_what_is_remembered_of_itself(remember, say, scripted):
    chat = remember(TENT, NOTE)
    say("And mats?", chat)
    asked = Message.objects.filter(conversation=chat, role="user").last()
    assert NOTE not in build(Conversation.objects.get(pk=chat.pk), asked, scripted).turns[0].content


def test_the_next_end_writes_its_one_memory_anew(remember):
    chat = remember(TENT, NOTE)
    remember("We took the Fjell 2, in green.", "The user took the Fjell 2 for the fells.", chat)
    assert told() == ["The user took the Fjell 2 for the fells."]
    assert AppMemory.objects.get().metadata["through"] == 4


def test_an_end_without_anything_new_asks_no_model(remember, scripted):
    chat = remember(TENT, NOTE)
    calls = len(scripted.calls)
    Conversation.objects.filter(pk=chat.pk).update(ended_at=None)
    conversations.end(chat)
    run_due({"app_memory"})
    assert len(scripted.calls) == calls


@pytest.mark.parametrize("mode", ["read_only", "off"])
def test_where_memory_is_not_on_nothing_is_written(say, scripted, mode):
    chat = say(TENT)
    conversations.set_memory_mode(chat, mode)
    chat.refresh_from_db()
    conversations.end(chat)
    assert not Job.objects.filter(kind="app_memory").exists()


def test_small_talk_is_not_remembered(remember, scripted):
    remember("Hi there, thanks!", "The user said hi.")
    assert told() == []
    assert not any(call.slot == "app_memory" for call in scripted.calls)


def test_what_was_not_said_is_not_remembered(remember):
    remember(TENT, "The user bought a boat in Valencia for 4711 euros.")
    assert told() == []


def test_secrets_stay_out(remember):
    remember(f"{TENT} My password is hunter2-Rope!", "The user's password is hunter2-Rope! " + NOTE)
    assert told() == [NOTE]


def test_a_long_note_keeps_whole_sentences_up_to_200_characters(remember):
    long = " ".join(
        [NOTE, "Their brother Tom freezes in the fells in August for nine days and nine days.", NOTE]
    )
    remember(TENT, long)
    assert told() == [long[: long.index(" " + NOTE)]]


def test_a_model_that_fails_leaves_everything_as_it_is(say, scripted):
    chat = say(TENT)
    conversations.end(chat)
    Job.objects.filter(kind="extract").delete()
    scripted.app_memories.append(ProviderError("away"))
    assert run_due({"app_memory"}) == 1
    assert told() == []
    assert not Job.objects.filter(kind="app_memory").exists()
    chat.refresh_from_db()
    assert chat.ended_at is not None


def test_a_locked_database_is_tried_once_more(remember, monkeypatch):
    real, tries = app_memories.store, []

    def store(*args):
        tries.append(args)
        if len(tries) == 1:
            raise OperationalError("database is locked")
        return real(*args)

    monkeypatch.setattr(app_memories, "store", store)
    remember(TENT, NOTE)
    assert (told(), len(tries)) == ([NOTE], 2)


def test_it_waits_while_a_reply_is_written_and_while_memory_looks(say, scripted, monkeypatch):
    chat = say(TENT)
    conversations.end(chat)
    scripted.app_memories.append(NOTE)
    run_due({"app_memory"})
    assert told() == []
    Job.objects.filter(kind="extract").delete()
    monkeypatch.setattr(generation, "running", lambda: 1)
    Job.objects.update(run_after=timezone.now())
    run_due({"app_memory"})
    assert told() == []
    monkeypatch.undo()
    Job.objects.update(run_after=timezone.now())
    run_due({"app_memory"})
    assert told() == [NOTE]


def test_a_conversation_that_goes_on_meanwhile_is_not_stored(say, scripted):
    chat = say(TENT)
    conversations.end(chat)
    Job.objects.filter(kind="extract").delete()

    def go_on(turns):
        say("One more thing about the tent", Conversation.objects.get(pk=chat.pk))
        return NOTE

    scripted.app_memories.append(go_on)
    run_due({"app_memory"})
    assert told() == []


def test_one_that_was_written_for_an_earlier_branch_is_written_again(say, scripted):
    chat = say(TENT)
    conversations.end(chat)
    Job.objects.filter(kind="extract").delete()

    def change(turns):
        Conversation.objects.filter(pk=chat.pk).update(branch=7)
        return NOTE

    scripted.app_memories.append(change)
    run_due({"app_memory"})
    assert told() == []
    Job.objects.update(run_after=timezone.now())
    scripted.app_memories.append(NOTE)
    run_due({"app_memory"})
    assert told() == [NOTE]


def test_a_block_of_an_app_that_was_left_meanwhile_is_not_kept(remember, say, scripted, owner):
    remember(TENT, NOTE)
    chat = say("What else?")
    asked, answer = Message.objects.filter(conversation=chat)
    prompt = build(chat, asked, scripted)
    rooms.move(chat, App.objects.create(owner=owner, slug="work", name="Work"))
    prompts.record_prompt(chat, asked, answer, prompt, 8192)
    chat.refresh_from_db()
    assert chat.memory_block is None


def test_what_the_user_marked_makes_it_matter_more(remember, say):
    chat = say(TENT)
    flag(Message.objects.get(conversation=chat, role="user"), True)
    remember("And mats for the nights in the fells.", NOTE, Conversation.objects.get(pk=chat.pk))
    assert AppMemory.objects.get().metadata["importance"] >= 3
