"""The model is told what memory does about a request, so that its reply claims nothing else."""

from __future__ import annotations

import pytest

from chat.context.prompt import build_prompt
from chat.models import Conversation, MemoryMode

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent_text(talk, scripted):
    """Return a function that sends a message and returns it as the model gets it."""

    def send(text, **fields):
        asked, _ = talk(text)
        Conversation.objects.update(**fields)
        conversation = Conversation.objects.get(pk=asked.conversation_id)
        asked.conversation = conversation
        return build_prompt(conversation, asked, scripted).turns[-1].content

    return send


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Can you remember that I'm vegetarian?", "Memory saves"),
        ("Vergiss bitte, dass ich bei der Bahn arbeite.", "Memory looks for"),
        ("Off the record: I'm looking for a new job.", "Memory does not save"),
    ],
)
def test_a_request_is_followed_by_what_memory_does(sent_text, message, told):
    text = sent_text(message)
    assert told in text
    assert text.endswith(message)


@pytest.mark.parametrize(
    ("message", "phrase"),
    [
        ("Please remember that my partner Lena is vegan.", "I'll remember that."),
        ("Merk dir bitte, dass meine Partnerin Lena vegan lebt.", "Das merke ich mir."),
        ("Recuerda que mi suegra Carmen es diabética.", "Lo recordaré."),
    ],
)
def test_what_is_only_to_be_remembered_gets_a_fixed_answer_in_its_language(sent_text, message, phrase):
    assert f"If that is all, answer only: “{phrase}”" in sent_text(message)


def test_with_another_request_the_reply_has_more_to_say(sent_text):
    text = sent_text("Forget my old address. And please remember that I live in Bonn.")
    assert "Memory looks for" in text
    assert "answer only" not in text


def test_with_memory_off_the_model_is_told_that_nothing_happens(sent_text):
    text = sent_text("Remember that I'm vegetarian.", memory_mode=MemoryMode.OFF)
    assert "Memory is off in this chat" in text


@pytest.mark.parametrize("message", ["Do you remember what I eat?", "I always forget the rules of bridge."])
def test_a_message_without_a_request_has_no_such_note(sent_text, message):
    assert sent_text(message) == message
