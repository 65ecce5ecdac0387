"""When a conversation ends, a job writes its app memory; failures leave everything unchanged."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from chat.actions import app_memories, conversations, prompts
from chat.actions.message_edits import flag_message
from chat.context.prompt import build_prompt
from chat.errors import ProviderError
from chat.generation import run as generation
from chat.jobs.runner import run_due
from chat.memory.app_memories import join_sentences_within_limit
from chat.models import MAX_CONTENT, App, AppMemory, Conversation, Job, Message, UsageRecord

from .app_memory_samples import TENT_MEMORY, TENT_MESSAGE, live_app_memories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("immediate_app_memories")]


def test_an_app_memory_is_written_when_a_conversation_ends(write_app_memory, scripted):
    chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    memory = AppMemory.objects.get()
    assert (memory.content, memory.app, memory.source_conversation) == (TENT_MEMORY, chat.app, chat)
    assert memory.metadata["through"] == 2
    assert memory.metadata["tags"] == ["needs", "tent", "nine"] or "tent" in memory.metadata["tags"]
    assert 0 <= memory.metadata["importance"] <= 10
    assert UsageRecord.objects.get(purpose="app_memory").lane == "background"
    assert TENT_MESSAGE in scripted.calls[-1].turns[-1].content


def test_prompts_of_other_conversations_of_the_app_list_the_memory(write_app_memory, add_exchange, scripted):
    write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    chat = add_exchange("What else should we take along?")
    asked = Message.objects.get(conversation=chat, role="user")
    system = build_prompt(chat, asked, scripted).turns[0].content
    today = timezone.now().strftime("%Y-%m-%d")
    assert (
        "(memories for app: General)\n"
        "The following are memories from previous conversations with this app:\n\n"
        f"1. [Created: {today}] {TENT_MEMORY}\n\n"
        "Use these memories to provide context-aware responses."
    ) in system


def test_app_memories_stay_in_their_app_and_core_facts_are_shared(
    write_app_memory, owner, talk, make_fact, scripted
):
    write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    make_fact("User wants answers in French", kind="reply_language")
    work = App.objects.create(owner=owner, slug="work", name="Work")
    asked, _ = talk("What is next?")
    Conversation.objects.filter(pk=asked.conversation_id).update(app=work)
    asked.refresh_from_db()
    prompt = build_prompt(Conversation.objects.get(pk=asked.conversation_id), asked, scripted)
    whole = "\n".join(turn.content for turn in prompt.turns)
    assert "answers in French" in whole
    assert "fells" not in whole
    assert "memories for app" not in whole


def test_a_conversations_own_memory_is_not_in_its_prompt(write_app_memory, add_exchange, scripted):
    chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    add_exchange("And mats?", chat)
    asked = Message.objects.filter(conversation=chat, role="user").last()
    assert (
        TENT_MEMORY
        not in build_prompt(Conversation.objects.get(pk=chat.pk), asked, scripted).turns[0].content
    )


def test_a_second_end_rewrites_the_conversations_memory(write_app_memory):
    chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    write_app_memory("We took the Fjell 2, in green.", "The user took the Fjell 2 for the fells.", chat)
    assert live_app_memories() == ["The user took the Fjell 2 for the fells."]
    assert AppMemory.objects.get().metadata["through"] == 4


def test_an_end_without_new_messages_does_not_call_the_model(write_app_memory, scripted):
    chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    calls = len(scripted.calls)
    Conversation.objects.filter(pk=chat.pk).update(ended_at=None)
    conversations.end_conversation(chat)
    run_due({"app_memory"})
    assert len(scripted.calls) == calls


@pytest.mark.parametrize("mode", ["read_only", "off"])
def test_no_app_memory_is_written_unless_memory_is_on(add_exchange, scripted, mode):
    chat = add_exchange(TENT_MESSAGE)
    conversations.set_memory_mode(chat, mode)
    chat.refresh_from_db()
    conversations.end_conversation(chat)
    assert not Job.objects.filter(kind="app_memory").exists()


def test_small_talk_creates_no_app_memory(write_app_memory, scripted):
    write_app_memory("Hi there, thanks!", "The user said hi.")
    assert live_app_memories() == []
    assert not any(call.slot == "app_memory" for call in scripted.calls)


def test_an_ungrounded_app_memory_is_not_stored(write_app_memory):
    write_app_memory(TENT_MESSAGE, "The user bought a boat in Valencia for 4711 euros.")
    assert live_app_memories() == []


def test_secrets_are_removed_from_app_memories(write_app_memory):
    write_app_memory(
        f"{TENT_MESSAGE} My password is hunter2-Rope!", "The user's password is hunter2-Rope! " + TENT_MEMORY
    )
    assert live_app_memories() == [TENT_MEMORY]


def test_a_long_app_memory_is_cut_to_whole_sentences_within_200_characters(write_app_memory):
    long = " ".join(
        [
            TENT_MEMORY,
            "Their brother Tom freezes in the fells in August for nine days and nine days.",
            TENT_MEMORY,
        ]
    )
    write_app_memory(TENT_MESSAGE, long)
    assert live_app_memories() == [long[: long.index(" " + TENT_MEMORY)]]


def test_an_app_memory_may_have_four_sentences(write_app_memory):
    four = "The user needs a tent. It is for nine days. They go in August. Tom freezes."
    write_app_memory(TENT_MESSAGE, four)
    assert live_app_memories() == [four]


def test_a_sentence_that_does_not_fit_makes_room_for_a_shorter_one(write_app_memory):
    long = "Their brother Tom freezes in the fells in August " + "for nine days and nine days " * 4
    last = "Tom freezes."
    write_app_memory(TENT_MESSAGE, f"{TENT_MEMORY} {long.strip()}. {last}")
    assert live_app_memories() == [f"{TENT_MEMORY} {last}"]


@given(st.lists(st.text("abc ", min_size=1, max_size=250).map(lambda words: f"{words.strip()}."), max_size=6))
def test_joined_sentences_stay_within_the_limit_and_begin_with_the_first(sentences):
    text = join_sentences_within_limit(sentences)
    assert len(text) <= MAX_CONTENT
    assert bool(text) is bool(sentences)
    if sentences and len(sentences[0]) <= MAX_CONTENT:
        assert text.startswith(sentences[0])


def test_a_failing_model_stores_no_app_memory(add_exchange, scripted):
    chat = add_exchange(TENT_MESSAGE)
    conversations.end_conversation(chat)
    Job.objects.filter(kind="extract").delete()
    scripted.app_memories.append(ProviderError("verbatim", sentence="away"))
    assert run_due({"app_memory"}) == 1
    assert live_app_memories() == []
    assert not Job.objects.filter(kind="app_memory").exists()
    chat.refresh_from_db()
    assert chat.ended_at is not None


def test_storing_is_retried_when_the_database_is_locked(write_app_memory, monkeypatch):
    real, tries = app_memories.store_app_memory, []

    def store(*args):
        tries.append(args)
        if len(tries) == 1:
            raise OperationalError("database is locked")
        return real(*args)

    monkeypatch.setattr(app_memories, "store_app_memory", store)
    write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    assert (live_app_memories(), len(tries)) == ([TENT_MEMORY], 2)


def test_the_job_waits_for_running_replies_and_extraction(add_exchange, scripted, monkeypatch):
    chat = add_exchange(TENT_MESSAGE)
    conversations.end_conversation(chat)
    scripted.app_memories.append(TENT_MEMORY)
    run_due({"app_memory"})
    assert live_app_memories() == []
    Job.objects.filter(kind="extract").delete()
    monkeypatch.setattr(generation, "count_running", lambda: 1)
    Job.objects.update(run_after=timezone.now())
    run_due({"app_memory"})
    assert live_app_memories() == []
    monkeypatch.undo()
    Job.objects.update(run_after=timezone.now())
    run_due({"app_memory"})
    assert live_app_memories() == [TENT_MEMORY]


def test_no_app_memory_is_stored_if_the_conversation_continues_meanwhile(add_exchange, scripted):
    chat = add_exchange(TENT_MESSAGE)
    conversations.end_conversation(chat)
    Job.objects.filter(kind="extract").delete()

    def go_on(turns):
        add_exchange("One more thing about the tent", Conversation.objects.get(pk=chat.pk))
        return TENT_MEMORY

    scripted.app_memories.append(go_on)
    run_due({"app_memory"})
    assert live_app_memories() == []


def test_an_app_memory_of_an_older_branch_is_discarded_and_written_again(add_exchange, scripted):
    chat = add_exchange(TENT_MESSAGE)
    conversations.end_conversation(chat)
    Job.objects.filter(kind="extract").delete()

    def change(turns):
        Conversation.objects.filter(pk=chat.pk).update(branch=7)
        return TENT_MEMORY

    scripted.app_memories.append(change)
    run_due({"app_memory"})
    assert live_app_memories() == []
    Job.objects.update(run_after=timezone.now())
    scripted.app_memories.append(TENT_MEMORY)
    run_due({"app_memory"})
    assert live_app_memories() == [TENT_MEMORY]


def test_a_memory_block_of_the_previous_app_is_not_stored(write_app_memory, add_exchange, scripted, owner):
    write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    chat = add_exchange("What else?")
    asked, answer = Message.objects.filter(conversation=chat)
    prompt = build_prompt(chat, asked, scripted)
    conversations.move_conversation(chat, App.objects.create(owner=owner, slug="work", name="Work"))
    prompts.record_prompt(chat, asked, answer, prompt, 8192)
    chat.refresh_from_db()
    assert chat.memory_block is None


def test_flagged_messages_raise_the_importance(write_app_memory, add_exchange):
    chat = add_exchange(TENT_MESSAGE)
    flag_message(Message.objects.get(conversation=chat, role="user"), True)
    write_app_memory(
        "And mats for the nights in the fells.", TENT_MEMORY, Conversation.objects.get(pk=chat.pk)
    )
    assert AppMemory.objects.get().metadata["importance"] >= 3
