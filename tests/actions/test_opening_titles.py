"""The first words of a chat are its title, without what the user asked not to save or to forget."""

from __future__ import annotations

import pytest
from django.test import Client

from chat.actions.api_tokens import create_token
from chat.actions.conversation_titles import make_opening_title
from chat.actions.messages import finish_reply, send_message
from chat.models import Conversation

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("How do I prune roses?", "How do I prune roses?"),
        ("How do I prune roses?\nThey are old.", "How do I prune roses?"),
        ("Off the record: I'm looking for a new job.", ""),
        ("Forget that I live in Leeds.", ""),
        ("I'm pregnant. Don't save that.", ""),
        ("I'm pregnant.\nDon't save that.", ""),
        ("Don't save this: I'm pregnant. Which cheese may I eat?", "Which cheese may I eat?"),
    ],
)
def test_a_title_shows_nothing_that_is_kept_out_or_forgotten(message, title):
    assert make_opening_title(message) == title


def say(owner, text, conversation=None):
    asked, reply = send_message(owner, text, conversation)
    finish_reply(reply, "I see.", "complete")
    return Conversation.objects.get(pk=asked.conversation_id)


def test_a_chat_that_begins_with_such_a_message_gets_its_title_from_a_later_one(owner):
    conversation = say(owner, "Off the record: I'm looking for a new job.")
    assert conversation.title == ""
    conversation = say(owner, "How do I prune roses?", conversation)
    assert conversation.title == "How do I prune roses?"


def test_a_message_that_the_one_before_it_keeps_out_gives_no_title(owner):
    conversation = say(owner, "Don't save this:")
    conversation = say(owner, "I'm looking for a new job.", conversation)
    assert conversation.title == ""
    conversation = say(owner, "How do I prune roses?", conversation)
    assert conversation.title == "How do I prune roses?"


@pytest.mark.django_db(transaction=True)
def test_a_new_conversation_of_a_program_stays_permanent_without_a_title(owner, scripted):
    body = {
        "messages": [{"role": "user", "content": "Off the record: I'm looking for a new job."}],
        "metadata": {"conversation": "new"},
    }
    program = Client(headers={"authorization": f"Bearer {create_token(owner, 'a program')}"})
    answer = program.post("/v1/chat/completions", body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    conversation = Conversation.objects.get()
    assert (conversation.title, conversation.temporary) == ("", False)
    assert conversation.messages.get(role="user").by_program
