"""What a prompt leaves out is summed up bit by bit, and a model that fails leaves only the trimming."""

from __future__ import annotations

import itertools
import re

import pytest

from chat.context import summary
from chat.llm.scripted import ScriptedProvider
from chat.llm.types import ProviderError, StopFlag
from chat.models import Message
from tests.minutes import minutes

GOOD = "The user wants to sail in May; which harbour is still open."


def halted() -> StopFlag:
    flag = StopFlag()
    flag.set()
    return flag


def said(*texts: str) -> list[Message]:
    return [
        Message(seq=n, role="assistant" if n % 2 == 0 else "user", content=text)
        for n, text in enumerate(texts, start=1)
    ]


def test_the_summary_so_far_and_what_was_said_since_make_the_new_one():
    provider = ScriptedProvider(default_completion=GOOD)
    text = summary.summarise(provider, "They met.", said("Let us sail in May.", "Which harbour?"))
    assert text == f"They met. {GOOD}"
    asked = provider.calls[0].turns[-1].content
    assert asked.index("User: Let us sail in May.") < asked.index("Assistant: Which harbour?")
    assert (provider.calls[0].slot, provider.calls[0].max_tokens) == ("summary", 120)


def test_what_was_told_long_ago_thins_out_and_the_first_sentence_stays():
    provider = ScriptedProvider(default_completion=minutes)
    text = ""
    for n in range(60):
        text = summary.summarise(provider, text, said(f"Stage {n} of the trip leads over the hills."))
        assert provider.count_text(text) <= 256
    stages = [int(number) for number in re.findall(r"Stage (\d+)", text)]
    assert (stages[0], stages[-3:]) == (0, [57, 58, 59])
    gaps = [after - before for before, after in itertools.pairwise(stages)]
    assert gaps[0] > 4 > gaps[-1] == 1


@pytest.mark.parametrize(
    "told",
    [
        "The user plans a garden house of 3 by 4 metres on a hill.",
        "The user wants to sail in May with 7 friends.",
        "The user should use a simple hash and a cache for everything.",
    ],
)
def test_what_was_not_said_stays_out_of_it(told):
    with pytest.raises(summary.SummaryFailed):
        summary.summarise(ScriptedProvider(default_completion=told), "", said("Let us sail in May."))


def test_of_two_sentences_the_one_that_was_said_stays():
    provider = ScriptedProvider(default_completion="The user wants to sail in May. The house has 3 rooms.")
    text = summary.summarise(provider, "", said("I want to sail in May."))
    assert text == "The user wants to sail in May."


def test_what_was_stopped_is_no_summary_and_no_failure_of_the_model():
    provider = ScriptedProvider(default_completion=GOOD)
    with pytest.raises(ProviderError) as stopped:
        summary.summarise(provider, "", said("Let us sail in May."), stop=halted())
    assert not isinstance(stopped.value, summary.SummaryFailed)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wir wollen im Mai segeln und suchen noch einen Hafen für das Boot.", "German"),
        ("Nous voulons naviguer en mai et nous cherchons encore un port.", "French"),
        ("Let us sail in May, we still look for a harbour.", "English"),
    ],
)
def test_it_is_asked_for_in_the_language_of_the_conversation(text, language):
    provider = ScriptedProvider(default_completion=minutes)
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
    text = summary.summarise(provider, "", said("My password is hunter2secret! We sail in May."))
    assert "hunter2secret" not in text
    text = summary.summarise(provider, "", said("My password is hunter2secret!"), redacting=False)
    assert "hunter2secret" in text


def test_a_very_long_message_is_read_by_its_beginning_and_its_end():
    provider = ScriptedProvider(default_completion="The user said begin and end.")
    summary.summarise(provider, "", said("begin " + "x" * 50_000 + " end"))
    asked = provider.calls[0].turns[-1].content
    assert "begin" in asked
    assert "end" in asked
    assert len(asked) < 3000


def test_messages_are_read_in_small_portions_of_whole_exchanges():
    provider = ScriptedProvider()
    messages = said(*["x" * 240] * 20)
    portions = summary.portions(provider, messages)
    assert [m for portion in portions for m in portion] == messages
    sizes = [sum(provider.count_text(m.content) for m in portion) for portion in portions]
    assert max(sizes) <= summary.READ_AT_ONCE
    assert len(portions) == 5
    assert all(portion[0].role == "user" for portion in portions)


def test_a_large_exchange_is_a_portion_of_its_own():
    provider = ScriptedProvider()
    messages = said(*["x" * 1200] * 6)
    assert [len(portion) for portion in summary.portions(provider, messages)] == [2, 2, 2]
