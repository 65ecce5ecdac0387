"""Unusual streams of real servers: keep-alives, split characters, errors of many shapes, missing ends."""

from __future__ import annotations

import threading

import pytest

from chat.errors import ModelNotReady, ProviderError
from chat.llm.types import GenerationOptions

from .fake_server import MODELS, STORY_TURNS, only_when_streamed, run_fake_server, stream_pieces

LAST = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


@pytest.fixture
def reply(connected):
    """Return a function that streams these events and returns the text and the finished stream."""

    def read(*events, **patience):
        endpoint = only_when_streamed(lambda body: iter(events))
        with run_fake_server(v1__models=MODELS, v1__chat__completions=endpoint) as server:
            provider = connected(server, **patience)
            stream = provider.stream(STORY_TURNS, GenerationOptions.for_reply("s", max_tokens=50))
            return "".join(stream), stream

    return read


def piece(content):
    return {"model": "m", "choices": [{"delta": {"content": content}}]}


@pytest.mark.parametrize(
    "between",
    [
        b"retry: 1000\n\n",
        b"id: 7\n\n",
        b"data:\n\n",
        b"data: \n\n",
        b": still here\n\n",
        b"event: ping\ndata: {}\n\n",
        {"choices": None},
        {"choices": [None]},
        {"choices": [], "model": ""},
        {"choices": [{"delta": None}], "model": None},
        {"choices": [{"delta": {}}], "error": None, "usage": None},
        {"choices": [{"delta": {}}], "usage": {"prompt_tokens": "7", "prompt_tokens_details": []}},
    ],
    ids=range(12),
)
def test_events_without_reply_text_do_not_end_the_stream(reply, between):
    text, stream = reply(between, piece("Once "), between, piece("upon"), LAST, between)
    assert (text, stream.finish) == ("Once upon", "stop")
    assert stream.usage.prompt_tokens > 0


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_line_endings_of_any_kind_and_chunks_of_any_size_are_accepted(reply, end):
    raw = 'data: {"choices":[{"delta":{"content":"日é😀\u2028"}}]}\n\n'.encode().replace(b"\n", end)
    text, _stream = reply(*(bytes([byte]) for byte in raw), LAST)
    assert text == "日é😀\u2028"


def test_split_surrogates_are_joined_and_unstorable_characters_removed(reply):
    text, _stream = reply(piece("a\ud83d"), piece("\ude00b\0c"), piece("\ud83d"), LAST)
    assert text == "a😀bc"
    assert reply(piece("\ude00a"), LAST)[0] == "\ufffda"


def test_content_parts_are_joined_without_reasoning(reply):
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    text, _stream = reply(piece([thought]), piece([{"type": "text", "text": "Oslo"}]), LAST)
    assert text == "Oslo"


def test_a_reply_with_only_reasoning_is_an_error(reply):
    thought = {"choices": [{"delta": {"reasoning_content": "Hm"}}]}
    with pytest.raises(ProviderError, match="on thinking"):
        reply(thought, {"choices": [{"delta": {}, "finish_reason": "length"}]})


def test_after_the_last_chunk_the_connection_is_not_waited_for(connected):
    held = threading.Event()

    def slow(body):
        yield from (*stream_pieces("Once"), LAST)
        held.wait(10)

    with run_fake_server(v1__models=MODELS, v1__chat__completions=only_when_streamed(slow)) as server:
        provider = connected(server, cost=0.1)
        assert "".join(provider.stream(STORY_TURNS, GenerationOptions.for_reply("s"))) == "Once"
        assert not provider.servers[0].needs_reconnect.is_set()
        held.set()


def test_a_response_that_is_not_streamed_is_read_as_a_whole(connected):
    whole = {"choices": [{"message": {"content": "Once upon"}, "finish_reason": "length"}]}
    as_json = {"content-type": "application/json"}
    endpoint = only_when_streamed(lambda body: (200, whole, as_json))
    with run_fake_server(v1__models=MODELS, v1__chat__completions=endpoint) as server:
        stream = connected(server).stream(STORY_TURNS, GenerationOptions.for_reply("s"))
        assert ("".join(stream), stream.finish) == ("Once upon", "length")


@pytest.mark.parametrize(
    "error",
    [
        {"error": {"message": "out of memory"}},
        {"error": "out of memory"},
        {"object": "error", "message": "out of memory"},
        b'event: error\ndata: {"message": "out of memory"}\n\n',
        b"data: {half an obj\n\n",
    ],
    ids=["object", "text", "vllm", "named", "garbage"],
)
def test_an_error_of_any_shape_raises(reply, error):
    with pytest.raises(ProviderError):
        reply(piece("Once "), error, LAST)


def test_an_error_as_the_first_event_keeps_its_meaning(reply):
    with pytest.raises(ModelNotReady) as busy:
        reply({"error": {"message": "slow down", "code": 429}})
    assert busy.value.code == "server-busy"
    with pytest.raises(ProviderError, match="does not accept the key"):
        reply({"error": {"message": "who?", "code": 401}})


def aside(text):
    return {"model": "m", "choices": [{"delta": {"reasoning_content": text}}]}


def test_a_character_of_the_reasoning_may_be_split_between_two_events(connected):
    events = [aside("Hm \ud83d"), aside("\ude00"), piece("Oslo."), LAST]
    endpoint = only_when_streamed(lambda body: iter(events))
    with run_fake_server(v1__models=MODELS, v1__chat__completions=endpoint) as server:
        reasoning: list[str] = []
        options = GenerationOptions(slot="s", max_tokens=50, on_reasoning=reasoning.append)
        stream = connected(server).stream(STORY_TURNS, options)
        assert "".join(stream) == "Oslo."
    assert "".join(reasoning) == "Hm 😀"
    assert (stream.usage.completion_tokens, stream.usage.reasoning_tokens) == (3, 2)
