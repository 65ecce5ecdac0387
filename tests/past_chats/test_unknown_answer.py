"""Asked about the user what nothing tells, the model is told to say that it does not know."""

from __future__ import annotations

import pytest

from chat.context.answer_rules import NOT_TOLD
from chat.models import Conversation, MemoryMode

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("embedder")]


@pytest.fixture
def send(ask):
    """Return a function that sends a message and returns it as the model gets it."""
    return lambda *given, **fields: ask(*given, **fields).turns[-1].content


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What's my sister's name?", "en"),
        ("When is my wedding anniversary?", "en"),
        ("Comment s'appelle mon chien ?", "fr"),
        ("Wann hat meine Frau Geburtstag?", "de"),
    ],
)
def test_the_sentence_stands_behind_the_question_in_its_language(send, text, language):
    assert send(text).endswith(f"{text}\n\n{NOT_TOLD[language]}")


@pytest.mark.parametrize(
    "text",
    [
        "What should I cook tonight?",
        "How do I get my cat to drink more?",
        "Write one sentence about my work for my profile.",
        "I adopted a second greyhound yesterday, her name is Juno.",
        "Please remember that my husband Theo is allergic to kiwis.",
        "What is the capital of Peru?",
    ],
)
def test_other_messages_have_no_such_sentence(send, text):
    assert not send(text).endswith(tuple(NOT_TOLD.values()))


def test_a_known_fact_makes_it_needless(send, make_fact, embedder):
    text = "User's sister is called Klara"
    vector = embedder.embed([text])[0].tobytes()
    make_fact(text, kind="family", category="identity", embedding=vector, embedder=embedder.name)
    assert not send("What's my sister's name?").endswith(tuple(NOT_TOLD.values()))


def test_a_quotation_makes_it_needless(send, remember):
    remember("My sister's name is Klara and she moves to Graz.", "All the best to Klara.")
    text = send("What's my sister's name?")
    assert "Klara" in text
    assert not text.endswith(tuple(NOT_TOLD.values()))


def test_later_messages_may_be_answered_by_the_chat_itself(send):
    send("My sister Klara visits me.")
    conversation = Conversation.objects.get()
    assert not send("What's my sister's name?", conversation).endswith(tuple(NOT_TOLD.values()))


def test_without_memory_nothing_is_said(send):
    asked = "What's my sister's name?"
    assert send(asked, memory_mode=MemoryMode.OFF) == asked
