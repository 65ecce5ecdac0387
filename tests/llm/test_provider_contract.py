"""Every provider keeps the same contract."""

from __future__ import annotations

import pytest

from chat.llm.scripted import ScriptedProvider
from chat.llm.types import Lane, PromptTooLong, ProviderError, StopFlag, Turn, Unfinished

ASK = [Turn("system", "You answer briefly."), Turn("user", "Count from one to twenty in words.")]

ENDLESS = "word " * 40_000


@pytest.fixture(
    params=[
        "scripted",
        pytest.param("llama", marks=pytest.mark.model),
        pytest.param("remote", marks=pytest.mark.model),
    ]
)
def provider(request):
    """Each provider that there is."""
    if request.param != "scripted":
        return request.getfixturevalue(request.param)
    long = "One two three four five six seven eight nine ten eleven twelve"
    return ScriptedProvider(default=long, default_completion=long)


def test_the_pieces_of_a_stream_join_to_its_text_and_its_end_is_known(provider):
    stream = provider.stream(ASK, slot="pieces", max_tokens=24)
    pieces = list(stream)
    assert len(pieces) > 1
    assert "".join(pieces).strip()
    assert stream.finish in ("stop", "length")


def test_usage_is_filled(provider):
    stream = provider.stream(ASK, slot="usage", max_tokens=24)
    list(stream)
    usage = stream.usage
    assert usage.prompt_tokens == provider.count_tokens(ASK)
    assert 0 < usage.completion_tokens <= 24
    assert usage.first_token_seconds is not None
    assert 0 <= usage.first_token_seconds <= usage.seconds


def test_stop_ends_a_stream_and_keeps_its_text(provider):
    stop = StopFlag()
    stream = provider.stream(ASK, slot="stop", max_tokens=500, stop=stop)
    text = ""
    for piece in stream:
        text += piece
        stop.set()
    assert stream.finish == "cancelled"
    assert text.strip()
    assert stream.usage.completion_tokens < 50


def test_what_is_stopped_before_it_begins_gives_nothing(provider):
    stop = StopFlag()
    stop.set()
    stream = provider.stream(ASK, slot="never", max_tokens=24, stop=stop)
    assert list(stream) == []
    assert stream.finish == "cancelled"
    with pytest.raises(Unfinished):
        provider.complete(ASK, slot="never", max_tokens=24, stop=stop)


def test_a_provider_answers_as_before_after_a_stop(provider):
    before = provider.complete(ASK, slot="after-stop", max_tokens=12).text
    stop = StopFlag()
    for _ in provider.stream(ASK, slot="after-stop", max_tokens=100, stop=stop):
        stop.set()
    assert provider.complete(ASK, slot="after-stop", max_tokens=12).text == before


def test_a_completion_is_the_same_each_time(provider):
    first = provider.complete(ASK, slot="again", max_tokens=16)
    assert first.text.strip()
    assert first.usage.prompt_tokens == provider.count_tokens(ASK)
    assert first.usage.completion_tokens > 0
    assert provider.complete(ASK, slot="again", max_tokens=16).text == first.text


def test_a_longer_text_counts_more_tokens(provider):
    counts = [provider.count_text("word " * n) for n in (0, 1, 10, 100)]
    assert counts == sorted(set(counts))
    conversations = [
        ASK,
        [*ASK, Turn("assistant", "One.")],
        [*ASK, Turn("assistant", "One."), Turn("user", "More!")],
    ]
    assert [provider.count_tokens(c) for c in conversations] == sorted(
        {provider.count_tokens(c) for c in conversations}
    )


def test_a_prompt_that_does_not_fit_is_refused_with_a_sentence(provider):
    endless = [Turn("user", ENDLESS)]
    with pytest.raises(PromptTooLong, match="longer than the model's window"):
        list(provider.stream(endless, slot="long", max_tokens=8))
    with pytest.raises(PromptTooLong):
        provider.complete(endless, slot="long", max_tokens=8)


def test_after_a_refusal_the_next_call_is_answered(provider):
    with pytest.raises(ProviderError):
        provider.complete([Turn("user", ENDLESS)], slot="long", max_tokens=8)
    assert provider.complete(ASK, slot="long", max_tokens=8).text


def test_every_lane_is_served(provider):
    for lane in Lane:
        assert provider.complete(ASK, slot="lanes", lane=lane, max_tokens=4).text


def test_a_conversation_without_a_system_turn_is_answered(provider):
    assert provider.complete([Turn("user", "Hello")], slot="plain", max_tokens=4).text


def test_a_conversation_that_begins_with_an_answer_or_repeats_a_role_is_answered(provider):
    odd = [ASK[0], Turn("assistant", "Hello."), Turn("user", "Hi."), Turn("user", "Are you there?")]
    assert provider.complete(odd, slot="odd", max_tokens=4).text
