"""Streams as servers really send them: signs of life, halves of characters, errors in many shapes, no end."""

from __future__ import annotations

import threading

import pytest

from chat.llm.remote import troubles
from chat.llm.types import ModelNotReady, ProviderError

from .pretend import ASK, MODELS, after_the_probe, pretending, words

LAST = {"choices": [{"delta": {}, "finish_reason": "stop"}]}


@pytest.fixture
def reply(connected):
    """Returns what a provider makes of a stream: its text, and how it ended."""

    def read(*events, **patience):
        endpoint = after_the_probe(lambda body: iter(events))
        with pretending(v1__models=MODELS, v1__chat__completions=endpoint) as server:
            provider = connected(server, **patience)
            stream = provider.stream(ASK, slot="s", max_tokens=50)
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
def test_what_tells_nothing_of_the_reply_does_not_end_it(reply, between):
    text, stream = reply(between, piece("Once "), between, piece("upon"), LAST, between)
    assert (text, stream.finish) == ("Once upon", "stop")
    assert stream.usage.prompt_tokens > 0


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_lines_may_end_in_any_way_and_be_cut_anywhere(reply, end):
    raw = 'data: {"choices":[{"delta":{"content":"日é😀\u2028"}}]}\n\n'.encode().replace(b"\n", end)
    text, _stream = reply(*(bytes([byte]) for byte in raw), LAST)
    assert text == "日é😀\u2028"


def test_halves_of_a_character_become_one_and_what_no_database_keeps_is_left_out(reply):
    text, _stream = reply(piece("a\ud83d"), piece("\ude00b\0c"), piece("\ud83d"), LAST)
    assert text == "a😀bc"
    assert reply(piece("\ude00a"), LAST)[0] == "\ufffda"


def test_a_reply_in_parts_is_its_text_without_its_thoughts(reply):
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    text, _stream = reply(piece([thought]), piece([{"type": "text", "text": "Oslo"}]), LAST)
    assert text == "Oslo"


def test_a_model_that_only_thought_gave_no_reply_also_where_the_probe_saw_no_thinking(reply):
    thought = {"choices": [{"delta": {"reasoning_content": "Hm"}}]}
    with pytest.raises(ProviderError, match="room for thinking"):
        reply(thought, {"choices": [{"delta": {}, "finish_reason": "length"}]})


def test_once_it_has_ended_nobody_waits_for_the_line_to_close(connected):
    held = threading.Event()

    def slow(body):
        yield from (*words("Once"), LAST)
        held.wait(10)

    with pretending(v1__models=MODELS, v1__chat__completions=after_the_probe(slow)) as server:
        provider = connected(server, cost=0.1)
        assert "".join(provider.stream(ASK, slot="s")) == "Once"
        assert not provider.trouble.is_set()
        held.set()


def test_a_server_that_does_not_stream_is_read_whole(connected):
    whole = {"choices": [{"message": {"content": "Once upon"}, "finish_reason": "length"}]}
    as_json = {"content-type": "application/json"}
    endpoint = after_the_probe(lambda body: (200, whole, as_json))
    with pretending(v1__models=MODELS, v1__chat__completions=endpoint) as server:
        stream = connected(server).stream(ASK, slot="s")
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
def test_an_error_in_any_shape_is_told_and_never_taken_for_the_end(reply, error):
    with pytest.raises(ProviderError):
        reply(piece("Once "), error, LAST)


def test_an_error_that_comes_first_is_told_as_what_it_is(reply):
    with pytest.raises(ModelNotReady) as busy:
        reply({"error": {"message": "slow down", "code": 429}})
    assert str(busy.value) == troubles.BUSY
    with pytest.raises(ProviderError, match="does not accept the key"):
        reply({"error": {"message": "who?", "code": 401}})
