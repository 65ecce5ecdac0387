"""The contract that every provider fulfils."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from chat.errors import PromptTooLong, ProviderError, Unfinished
from chat.llm.remote.address import parse_address
from chat.llm.remote.provider import RemoteProvider
from chat.llm.scripted import ScriptedProvider
from chat.llm.types import GenerationOptions, Lane, StopFlag, Turn
from tests.llm.remote.fake_server import chat_endpoint, run_fake_server

ASK = [Turn("system", "You answer briefly."), Turn("user", "Count from one to twenty in words.")]

ENDLESS = "word " * 40_000
LONG = "One two three four five six seven eight nine ten eleven twelve"


def reply_within_limit(body):
    """Answer as a server whose model writes one word a token."""
    text = " ".join(LONG.split()[: body["max_tokens"]])
    return chat_endpoint(text)(body)


COUNTING_SERVER = {
    "v1__models": {"data": [{"id": "m", "owned_by": "llamacpp"}]},
    "props": {"total_slots": 2, "default_generation_settings": {"n_ctx": 512}},
    "apply-template": lambda body: {"prompt": " ".join(str(m["content"]) for m in body["messages"])},
    "tokenize": lambda body: {"tokens": body["content"].split()},
    "v1__chat__completions": reply_within_limit,
}


@pytest.fixture(
    params=[
        "scripted",
        "pool",
        pytest.param("llama", marks=pytest.mark.model),
        pytest.param("remote", marks=pytest.mark.model),
    ]
)
def provider(request):
    """Each kind of provider."""
    if request.param != "scripted":
        return request.getfixturevalue(request.param)
    return ScriptedProvider(default=LONG, default_completion=LONG)


@pytest.fixture
def pool():
    """Two servers of one model that count their tokens as words."""
    with ExitStack() as stack:
        servers = [stack.enter_context(run_fake_server(**COUNTING_SERVER)) for _ in range(2)]
        provider = RemoteProvider(*(parse_address(server.url) for server in servers))
        provider.connect()
        yield provider
        provider.close()


def test_the_chunks_of_a_stream_join_to_its_text_and_its_end_is_known(provider):
    stream = provider.stream(ASK, GenerationOptions.for_reply("pieces", max_tokens=24))
    pieces = list(stream)
    assert len(pieces) > 1
    assert "".join(pieces).strip()
    assert stream.finish in ("stop", "length")


def test_usage_is_reported(provider):
    stream = provider.stream(ASK, GenerationOptions.for_reply("usage", max_tokens=24))
    list(stream)
    usage = stream.usage
    assert usage.prompt_tokens == provider.count_tokens(ASK)
    assert 0 < usage.completion_tokens <= 24
    assert usage.first_token_seconds is not None
    assert 0 <= usage.first_token_seconds <= usage.seconds


def test_stop_ends_a_stream_and_keeps_its_text(provider):
    stop = StopFlag()
    stream = provider.stream(ASK, GenerationOptions.for_reply("stop", max_tokens=500, stop=stop))
    text = ""
    for piece in stream:
        text += piece
        stop.set()
    assert stream.finish == "cancelled"
    assert text.strip()
    assert stream.usage.completion_tokens < 50


def test_a_call_stopped_before_it_begins_returns_nothing(provider):
    stop = StopFlag()
    stop.set()
    stream = provider.stream(ASK, GenerationOptions.for_reply("never", max_tokens=24, stop=stop))
    assert list(stream) == []
    assert stream.finish == "cancelled"
    with pytest.raises(Unfinished):
        provider.complete(ASK, GenerationOptions(slot="never", max_tokens=24, stop=stop))


def test_a_provider_answers_as_before_after_a_stop(provider):
    before = provider.complete(ASK, GenerationOptions(slot="after-stop", max_tokens=12)).text
    stop = StopFlag()
    for _ in provider.stream(ASK, GenerationOptions.for_reply("after-stop", max_tokens=100, stop=stop)):
        stop.set()
    assert provider.complete(ASK, GenerationOptions(slot="after-stop", max_tokens=12)).text == before


def test_a_completion_is_reproducible(provider):
    first = provider.complete(ASK, GenerationOptions(slot="again", max_tokens=16))
    assert first.text.strip()
    assert first.usage.prompt_tokens == provider.count_tokens(ASK)
    assert first.usage.completion_tokens > 0
    assert provider.complete(ASK, GenerationOptions(slot="again", max_tokens=16)).text == first.text


def test_a_longer_text_has_more_tokens(provider):
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


def test_a_prompt_over_the_window_is_refused(provider):
    endless = [Turn("user", ENDLESS)]
    with pytest.raises(PromptTooLong, match="longer than the model's window"):
        list(provider.stream(endless, GenerationOptions.for_reply("long", max_tokens=8)))
    with pytest.raises(PromptTooLong):
        provider.complete(endless, GenerationOptions(slot="long", max_tokens=8))


def test_the_call_after_a_refusal_is_answered(provider):
    with pytest.raises(ProviderError):
        provider.complete([Turn("user", ENDLESS)], GenerationOptions(slot="long", max_tokens=8))
    assert provider.complete(ASK, GenerationOptions(slot="long", max_tokens=8)).text


def test_every_lane_is_served(provider):
    for lane in Lane:
        assert provider.complete(ASK, GenerationOptions(slot="lanes", lane=lane, max_tokens=4)).text


def test_a_conversation_without_a_system_turn_is_answered(provider):
    assert provider.complete([Turn("user", "Hello")], GenerationOptions(slot="plain", max_tokens=4)).text


def test_unusual_sequences_of_roles_are_answered(provider):
    odd = [ASK[0], Turn("assistant", "Hello."), Turn("user", "Hi."), Turn("user", "Are you there?")]
    assert provider.complete(odd, GenerationOptions(slot="odd", max_tokens=4)).text
