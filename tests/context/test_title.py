"""The model names a conversation in at most six words of its language, or the first words stay."""

from __future__ import annotations

from collections import deque

import pytest

from chat.context import title
from chat.llm.scripted import ScriptedProvider
from chat.llm.types import Completion, Lane, Usage
from chat.models import Message


def said(*texts: str) -> list[Message]:
    return [
        Message(seq=n, role="assistant" if n % 2 == 0 else "user", content=text)
        for n, text in enumerate(texts, start=1)
    ]


TENT = said("Can you help me pick a tent for two? We are off to Norway.", "Gladly.")


def found(answer: str, messages: list[Message] = TENT) -> str:
    return title.find_title(ScriptedProvider(titles=deque([answer])), messages)


@pytest.fixture
def provider():
    """A model that names everything alike."""
    made = ScriptedProvider()
    made.titles.append("A tent for Norway")
    return made


def test_what_was_said_makes_the_title(provider):
    assert title.find_title(provider, TENT) == "A tent for Norway"
    call = provider.calls[0]
    assert (call.slot, call.lane, call.max_tokens <= 32) == ("title", Lane.BACKGROUND, True)
    assert call.turns[-1].content.endswith("Assistant: Gladly.\n\nTitle in English:")


def test_all_but_the_last_turn_is_the_same_for_every_conversation(provider):
    title.find_title(provider, TENT)
    assert list(provider.calls[0].turns[:-1]) == title.prefix()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wir wollen im Mai segeln und suchen noch einen Hafen für das Boot.", "German"),
        ("Nous voulons naviguer en mai et nous cherchons encore un port.", "French"),
        ("我们想在五月去航海", "Chinese"),
        ("Szukamy portu", "the language of the user"),
    ],
)
def test_it_is_asked_for_in_the_language_of_the_conversation(provider, text, language):
    title.find_title(provider, said(text))
    assert f"Title in {language}:" in provider.calls[0].turns[-1].content


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ("tent for Norway.", "Tent for Norway"),
        ("  A  tent \n", "A tent"),
        ("去挪威的帐篷", "去挪威的帐篷"),
        ("Which tent?", "Which tent?"),
    ],
)
def test_it_is_made_tidy(answer, shown):
    assert found(answer) == shown


@pytest.mark.parametrize(
    "answer",
    [
        *("", "  ", "…", "123", "none", "Title", "New chat", "Title: A tent", "“A tent”"),
        *("one two three four five six seven", "x" * 61, "Can you help me pick a"),
    ],
)
def test_what_is_no_title_is_refused(answer):
    with pytest.raises(title.TitleFailed):
        found(answer)


def test_half_a_word_at_the_end_is_left_out():
    class Cut(ScriptedProvider):
        def complete(self, turns, **how):
            return Completion("A tent for Norw", "length", Usage())

    assert title.find_title(Cut(), TENT) == "A tent for"


def test_very_long_messages_are_read_by_their_beginning(provider):
    title.find_title(provider, said("begin " + "x" * 50_000, "y" * 50_000))
    asked = provider.calls[0].turns[-1].content
    assert "begin" in asked
    assert len(asked) < 800
