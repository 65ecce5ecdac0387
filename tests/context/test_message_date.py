"""The note says when a message was written where something needs it, and is replayed unchanged."""

from __future__ import annotations

from datetime import date

import pytest

from chat.actions.message_edits import retry_reply
from chat.context.prompt import build_prompt
from chat.models import Conversation, MemoryMode, Message, OwnerSettings

pytestmark = pytest.mark.django_db

SAID = "[This message was written on Sunday, 29 November 2026.]"


@pytest.fixture(autouse=True)
def _on_sunday(time_machine):
    """It is noon on Sunday, 29 November 2026."""
    time_machine.move_to("2026-11-29 12:00+00:00", tick=False)


@pytest.fixture
def son(make_fact):
    """An age that was said in November 2024."""
    return make_fact("User's grandson is 3", category="identity", kind="family", said_on=date(2024, 11, 20))


def test_a_message_about_time_says_when_it_was_written(make_conversation, turn):
    prompt = turn(make_conversation(), "What do I need to pack for tomorrow?")
    assert SAID in prompt.note
    assert SAID in prompt.turns[-1].content


def test_a_message_that_needs_a_dated_fact_says_when_it_was_written(son, make_conversation, turn):
    assert SAID in turn(make_conversation(), "Which present would my grandson like?").note


def test_other_messages_do_not_say_when_they_were_written(son, make_conversation, turn):
    assert turn(make_conversation(), "Write a poem about bridges.").note == ""


def test_a_replayed_note_stays_true(make_conversation, turn, time_machine):
    conversation = make_conversation()
    first = turn(conversation, "What do I need to pack for tomorrow?")
    time_machine.move_to("2026-12-24 12:00+00:00", tick=False)
    second = turn(conversation, "Thanks.")
    assert second.turns[: len(first.turns)] == first.turns
    assert SAID in second.turns[len(first.turns) - 1].content
    assert second.note == ""


def test_a_day_is_told_once_in_a_prompt_and_the_next_day_again(make_conversation, turn, time_machine):
    conversation = make_conversation()
    turn(conversation, "What do I need to pack for tomorrow?")
    assert turn(conversation, "And for the day after tomorrow?").note == ""
    time_machine.move_to("2026-11-30 12:00+00:00", tick=False)
    assert "Monday, 30 November 2026" in turn(conversation, "What is on today?").note


def test_a_reply_that_is_written_again_a_day_later_gets_the_same_date(
    make_conversation, turn, provider, time_machine
):
    conversation = make_conversation()
    turn(conversation, "What do I need to pack for tomorrow?")
    time_machine.move_to("2026-11-30 12:00+00:00", tick=False)
    asked, reply = Message.objects.filter(conversation=conversation)
    retry_reply(reply)
    assert SAID in build_prompt(conversation, asked, provider).note


@pytest.mark.parametrize(
    ("zone", "day"),
    [("Pacific/Auckland", "Monday, 30 November 2026"), ("America/Lima", "Sunday, 29 November")],
)
def test_the_day_is_that_of_the_owners_zone(owner, make_conversation, turn, zone, day):
    OwnerSettings.objects.filter(owner=owner).update(time_zone=zone)
    assert day in turn(make_conversation(), "What is on today?").note


def test_without_memory_the_date_is_told_and_replayed_too(son, make_conversation, turn):
    conversation = make_conversation(memory_mode=MemoryMode.OFF)
    first = turn(conversation, "How old is my grandson today?")
    assert first.note == SAID
    second = turn(conversation, "Thanks.")
    assert second.turns[: len(first.turns)] == first.turns


def test_memory_that_is_turned_off_takes_facts_out_of_notes_and_leaves_the_date(son, make_conversation, turn):
    conversation = make_conversation(memory_block="")
    assert "grandson is 3" in turn(conversation, "How old is my grandson?").note
    Conversation.objects.update(memory_mode=MemoryMode.OFF)
    conversation.refresh_from_db()
    replayed = turn(conversation, "Thanks.").turns[1].content
    assert SAID in replayed
    assert "grandson is 3" not in replayed


def test_an_imported_message_of_unknown_date_does_not_say_when_it_was_written(
    make_conversation, add_user_message, provider
):
    asked = add_user_message(make_conversation(), "What is on today?")
    asked.date_inferred = True
    assert build_prompt(asked.conversation, asked, provider).note == ""
