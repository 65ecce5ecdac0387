"""What a prompt leaves out is summed up bit by bit, and a model that fails leaves only the trimming."""

from __future__ import annotations

import pytest

from chat.context import summary
from chat.llm.scripted import ScriptedProvider
from chat.models import Message

GOOD = "They plan a boat trip in May; the harbour is still open."


def said(*texts: str) -> list[Message]:
    return [
        Message(seq=n, role="assistant" if n % 2 == 0 else "user", content=text)
        for n, text in enumerate(texts, start=1)
    ]


def test_the_summary_so_far_and_what_was_said_since_make_the_new_one():
    provider = ScriptedProvider(default_completion=GOOD)
    text, _ = summary.summarise(provider, "They met.", said("Let us sail in May.", "Which harbour?"))
    assert text == GOOD
    asked = provider.calls[0].turns[-1].content
    assert "They met." in asked
    assert asked.index("User: Let us sail in May.") < asked.index("Assistant: Which harbour?")
    assert (provider.calls[0].slot, provider.calls[0].max_tokens) == ("summary", 256)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wir wollen im Mai segeln und suchen noch einen Hafen für das Boot.", "German"),
        ("Nous voulons naviguer en mai et nous cherchons encore un port.", "French"),
        ("Let us sail in May, we still look for a harbour.", "English"),
    ],
)
def test_it_is_asked_for_in_the_language_of_the_conversation(text, language):
    provider = ScriptedProvider(default_completion=GOOD)
    summary.summarise(provider, "", said(text, "Gut."))
    assert f"in {language}" in provider.calls[0].turns[-1].content


@pytest.mark.parametrize("nothing", ["", "ok", "   \n "])
def test_nothing_usable_is_a_failure_and_no_summary(nothing):
    with pytest.raises(summary.SummaryFailed):
        summary.summarise(ScriptedProvider(default_completion=nothing), "", said("Hello there."))


def test_a_secret_stays_out_of_it():
    provider = ScriptedProvider(
        default_completion="The user's password is hunter2secret! and they sail in May."
    )
    text, _ = summary.summarise(provider, "", said("My password is hunter2secret!"))
    assert "hunter2secret" not in text
    text, _ = summary.summarise(provider, "", said("My password is hunter2secret!"), redacting=False)
    assert "hunter2secret" in text


def test_a_very_long_message_is_read_by_its_beginning_and_its_end():
    provider = ScriptedProvider(default_completion=GOOD)
    summary.summarise(provider, "", said("begin " + "x" * 50_000 + " end"))
    asked = provider.calls[0].turns[-1].content
    assert "begin" in asked
    assert "end" in asked
    assert len(asked) < 3000


def test_messages_are_read_in_portions_that_a_model_reads_in_half_a_minute():
    provider = ScriptedProvider()
    messages = said(*["x" * 1200] * 20)
    portions = summary.portions(provider, messages)
    assert [m for portion in portions for m in portion] == messages
    sizes = [sum(provider.count_text(m.content) for m in portion) for portion in portions]
    assert max(sizes) <= summary.READ_AT_ONCE
    assert len(portions) == 5
