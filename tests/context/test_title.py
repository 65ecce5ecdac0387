"""The model generates a title of at most six words in the conversation's language."""

from __future__ import annotations

from collections import deque

import pytest

from chat.context import title
from chat.errors import UnusableOutput
from chat.llm.scripted import ScriptedProvider
from chat.llm.types import Completion, Lane, Usage
from chat.models import Message


def make_messages(*texts: str) -> list[Message]:
    return [
        Message(seq=n, role="assistant" if n % 2 == 0 else "user", content=text)
        for n, text in enumerate(texts, start=1)
    ]


TENT = make_messages("Can you help me pick a tent for two? We are off to Norway.", "Gladly.")


def generate(answer: str, messages: list[Message] = TENT) -> str:
    return title.generate_title(ScriptedProvider(titles=deque([answer])), messages)


@pytest.fixture
def provider():
    """A scripted model with one title to return."""
    made = ScriptedProvider()
    made.titles.append("A tent for Norway")
    return made


def test_a_title_is_generated_from_the_messages(provider):
    assert title.generate_title(provider, TENT) == "A tent for Norway"
    call = provider.calls[0]
    assert (call.slot, call.lane, call.max_tokens <= 32) == ("title", Lane.BACKGROUND, True)
    assert call.turns[-1].content.endswith("Assistant: Gladly.\n\nTitle in English:")


def test_the_prompt_prefix_is_the_same_for_all_conversations(provider):
    title.generate_title(provider, TENT)
    assert list(provider.calls[0].turns[:-1]) == title.build_prefix()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wir wollen im Mai segeln und suchen noch einen Hafen für das Boot.", "German"),
        ("Nous voulons naviguer en mai et nous cherchons encore un port.", "French"),
        ("我们想在五月去航海", "Chinese"),
        ("Szukamy portu", "Polish"),
        ("Hm", "the language of the user"),
    ],
)
def test_the_title_is_requested_in_the_conversations_language(provider, text, language):
    title.generate_title(provider, make_messages(text))
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
def test_the_title_is_cleaned_up(answer, shown):
    assert generate(answer) == shown


@pytest.mark.parametrize(
    "answer",
    [
        *("", "  ", "…", "123", "none", "Title", "New chat", "Title: A tent", "“A tent”"),
        *("one two three four five six seven", "x" * 61, "Can you help me pick a"),
    ],
)
def test_an_unusable_title_is_refused(answer):
    with pytest.raises(UnusableOutput):
        generate(answer)


def test_an_incomplete_last_word_is_dropped():
    class Cut(ScriptedProvider):
        def complete(self, turns, options):
            return Completion("A tent for Norw", "length", Usage())

    assert title.generate_title(Cut(), TENT) == "A tent for"


def test_very_long_messages_are_cut_to_their_start(provider):
    title.generate_title(provider, make_messages("begin " + "x" * 50_000, "y" * 50_000))
    asked = provider.calls[0].turns[-1].content
    assert "begin" in asked
    assert len(asked) < 800
