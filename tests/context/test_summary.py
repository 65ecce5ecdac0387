"""Messages trimmed from the prompt are summarised in portions; unusable model output raises an error."""

from __future__ import annotations

import itertools
import re

import pytest

from chat.context import summary
from chat.errors import ProviderError, UnusableOutput
from chat.llm.scripted import ScriptedProvider
from chat.llm.types import StopFlag
from chat.models import Message
from tests.scripted_summary import summarise_turns

GOOD = "The user wants to sail in May; which harbour is still open."


def make_set_stop_flag() -> StopFlag:
    flag = StopFlag()
    flag.set()
    return flag


def make_messages(*texts: str) -> list[Message]:
    return [
        Message(seq=n, role="assistant" if n % 2 == 0 else "user", content=text)
        for n, text in enumerate(texts, start=1)
    ]


def test_the_new_summary_extends_the_previous_one():
    provider = ScriptedProvider(default_completion=GOOD)
    text = summary.summarise(provider, "They met.", make_messages("Let us sail in May.", "Which harbour?"))
    assert text == f"They met. {GOOD}"
    asked = provider.calls[0].turns[-1].content
    assert asked.index("User: Let us sail in May.") < asked.index("Assistant: Which harbour?")
    assert (provider.calls[0].slot, provider.calls[0].max_tokens) == ("summary", 120)


def test_older_sentences_are_thinned_out_and_the_first_one_stays():
    provider = ScriptedProvider(default_completion=summarise_turns)
    text = ""
    for n in range(60):
        text = summary.summarise(
            provider, text, make_messages(f"Stage {n} of the trip leads over the hills.")
        )
        assert provider.count_text(text) <= 256
    stages = [int(number) for number in re.findall(r"Stage (\d+)", text)]
    assert (stages[0], stages[-3:]) == (0, [57, 58, 59])
    gaps = [after - before for before, after in itertools.pairwise(stages)]
    assert gaps[0] > 4 > gaps[-1] == 1


@pytest.mark.parametrize(
    "output",
    [
        "The user plans a garden house of 3 by 4 metres on a hill.",
        "The user wants to sail in May with 7 friends.",
        "The user should use a simple hash and a cache for everything.",
    ],
)
def test_ungrounded_sentences_are_refused(output):
    with pytest.raises(UnusableOutput):
        summary.summarise(
            ScriptedProvider(default_completion=output), "", make_messages("Let us sail in May.")
        )


def test_only_grounded_sentences_are_kept():
    provider = ScriptedProvider(default_completion="The user wants to sail in May. The house has 3 rooms.")
    text = summary.summarise(provider, "", make_messages("I want to sail in May."))
    assert text == "The user wants to sail in May."


def test_a_stopped_summary_is_not_unusable_output():
    provider = ScriptedProvider(default_completion=GOOD)
    with pytest.raises(ProviderError) as stopped:
        summary.summarise(provider, "", make_messages("Let us sail in May."), stop=make_set_stop_flag())
    assert not isinstance(stopped.value, UnusableOutput)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wir wollen im Mai segeln und suchen noch einen Hafen für das Boot.", "German"),
        ("Nous voulons naviguer en mai et nous cherchons encore un port.", "French"),
        ("Let us sail in May, we still look for a harbour.", "English"),
    ],
)
def test_the_summary_is_requested_in_the_conversations_language(text, language):
    provider = ScriptedProvider(default_completion=summarise_turns)
    summary.summarise(provider, "", make_messages(text, "Gut."))
    assert f"in {language}" in provider.calls[0].turns[-1].content


@pytest.mark.parametrize("nothing", ["", "ok", "   \n "])
def test_empty_output_is_unusable(nothing):
    with pytest.raises(UnusableOutput):
        summary.summarise(ScriptedProvider(default_completion=nothing), "", make_messages("Hello there."))


def test_secrets_are_redacted_in_summaries():
    provider = ScriptedProvider(
        default_completion="The user's password is hunter2secret! and they sail in May."
    )
    text = summary.summarise(provider, "", make_messages("My password is hunter2secret! We sail in May."))
    assert "hunter2secret" not in text
    text = summary.summarise(provider, "", make_messages("My password is hunter2secret!"), redacting=False)
    assert "hunter2secret" in text


def test_a_very_long_message_is_cut_in_the_middle():
    provider = ScriptedProvider(default_completion="The user said begin and end.")
    summary.summarise(provider, "", make_messages("begin " + "x" * 50_000 + " end"))
    asked = provider.calls[0].turns[-1].content
    assert "begin" in asked
    assert "end" in asked
    assert len(asked) < 3000


def test_messages_are_split_into_portions_of_whole_exchanges():
    provider = ScriptedProvider()
    messages = make_messages(*["x" * 240] * 20)
    portions = summary.split_into_portions(provider, messages)
    assert [m for portion in portions for m in portion] == messages
    sizes = [sum(provider.count_text(m.content) for m in portion) for portion in portions]
    assert max(sizes) <= summary.PORTION_TOKENS
    assert len(portions) == 5
    assert all(portion[0].role == "user" for portion in portions)


def test_a_large_exchange_is_a_portion_of_its_own():
    provider = ScriptedProvider()
    messages = make_messages(*["x" * 1200] * 6)
    assert [len(portion) for portion in summary.split_into_portions(provider, messages)] == [2, 2, 2]


def test_tools_and_instructions_are_named_in_the_transcript():
    provider = ScriptedProvider(
        default_completion="The user wants to know how warm it is in Oslo: 8 degrees."
    )
    call = {"id": "a", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    messages = [
        Message(seq=1, role="system", content="Be brief."),
        Message(seq=2, role="user", content="How warm is it in Oslo?"),
        Message(seq=3, role="assistant", tool_calls=[call]),
        Message(seq=4, role="tool", name="weather", tool_call_id="a", content="8 degrees"),
        Message(seq=5, role="tool", content="no name"),
        Message(seq=6, role="assistant", content="8 degrees."),
    ]
    assert "8 degrees" in summary.summarise(provider, "", messages)
    assert provider.calls[0].turns[-1].content.split("\n")[:-2] == [
        "System: Be brief.",
        "User: How warm is it in Oslo?",
        'Assistant: [calls weather {"city": "Oslo"}]',
        "Tool weather: 8 degrees",
        "Tool: no name",
        "Assistant: 8 degrees.",
    ]


def test_a_portion_never_divides_a_tool_call_from_its_result():
    provider = ScriptedProvider()
    call = {"id": "a", "function": {"name": "weather", "arguments": "x" * 1000}}
    messages = [
        Message(seq=1, role="user", content="x" * 800),
        Message(seq=2, role="assistant", tool_calls=[call]),
        Message(seq=3, role="user", content="x" * 800),
        Message(seq=4, role="tool", tool_call_id="a", content="x" * 800),
        Message(seq=5, role="user", content="x" * 800),
    ]
    portions = summary.split_into_portions(provider, messages)
    assert [[m.seq for m in portion] for portion in portions] == [[1, 2, 3, 4], [5]]


@pytest.mark.parametrize("copied", ["Tool weather: 8 degrees it is.", "Assistant: 8 degrees it is today."])
def test_a_copy_of_the_transcript_is_no_summary(copied):
    messages = [Message(seq=1, role="tool", name="weather", content="8 degrees it is today.")]
    with pytest.raises(UnusableOutput):
        summary.summarise(ScriptedProvider(default_completion=copied), "", messages)
