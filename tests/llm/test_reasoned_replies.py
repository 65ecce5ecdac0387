"""Replies of a model on this machine that reasons first: how they are read from the engine's tokens."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from chat.errors import ProviderError
from chat.llm.llama import LlamaStream
from chat.llm.reasoning import ReasoningSeparator
from chat.llm.types import Finish, GenerationOptions, Usage


@dataclass
class FakeRequest:
    """A request of which the engine has written these tokens."""

    tokens: list[str]
    options: GenerationOptions
    finish: Finish = "stop"
    usage: Usage = field(default_factory=Usage)
    generated: list[int] = field(default_factory=list)
    ends: int = 0

    def __iter__(self):
        for number, token in enumerate(self.tokens):
            self.generated.append(number)
            self.usage.completion_tokens += 1
            yield token.encode()

    def end(self) -> None:
        self.ends += 1


@pytest.fixture
def read():
    """Reads a reply of these tokens; returns the request, its text, its reasoning and what was remembered."""

    def read(*tokens: str, max_tokens: int = 50, closing_tag: str = ""):
        reasoning: list[str] = []
        remembered: list[tuple[str, list[int]]] = []
        options = GenerationOptions(slot="s", on_reasoning=reasoning.append)
        request = FakeRequest(list(tokens), options)
        stream = LlamaStream(
            request,
            ReasoningSeparator(closing_tag),
            max_tokens=max_tokens,
            remember=lambda text, ids: remembered.append((text, ids)),
            end=request.end,
        )
        return stream, request, "".join(stream), "".join(reasoning), remembered

    return read


def test_reasoning_is_apart_and_its_tokens_are_counted(read):
    stream, request, text, reasoning, remembered = read("<think>", "Hm", ".", "</think>", "\n", "Os", "lo.")
    assert (text, reasoning) == ("Oslo.", "Hm.")
    assert stream.finish == "stop"
    assert request.usage.reply_tokens == 2
    # The cached prefix holds the reasoning, which later prompts do not.
    assert remembered == []


def test_a_reply_without_reasoning_is_remembered_by_its_tokens(read):
    _stream, request, text, reasoning, remembered = read("Os", "lo.")
    assert (text, reasoning, remembered) == ("Oslo.", "", [("Oslo.", [0, 1])])
    assert request.usage.reasoning_tokens == 0


def test_the_engine_is_told_to_end_when_the_reply_itself_is_full(read):
    words = [f"word{number} " for number in range(20)]
    stream, request, text, _reasoning, _remembered = read(
        "<think>", "a", "b", "</think>", *words, max_tokens=3
    )
    assert text == "word0 word1 word2 "
    assert stream.finish == "length"
    assert request.ends == 1


def test_reasoning_alone_is_no_reply(read):
    with pytest.raises(ProviderError, match="gave no reply"):
        read("Well", " I", " wonder", closing_tag="</think>")


def test_a_stopped_reply_may_be_reasoning_alone(read):
    reasoning: list[str] = []
    options = GenerationOptions(slot="s", on_reasoning=reasoning.append)
    request = FakeRequest(["Well"], options, "cancelled")
    stream = LlamaStream(
        request, ReasoningSeparator("</think>"), max_tokens=9, remember=lambda *_: None, end=request.end
    )
    assert "".join(stream) == ""
    assert reasoning == ["Well"]
