"""Constrained output: an answer keeps the requested format or the call fails."""

from __future__ import annotations

import json

import pytest

from chat.errors import FormatNotKept
from chat.llm.remote.constrained import STRICTER
from chat.llm.types import GenerationOptions, Turn
from chat.memory import extraction_prompt

from .fake_server import chat_endpoint, run_fake_server

MODELS = {"data": [{"id": "m"}]}
JUDGE = 'root ::= "ADD" | "NOOP 1"'
EXTRACT = extraction_prompt.build_grammar("en")
ASK = [Turn("system", "You judge."), Turn("user", "Well?")]


def answering_in_turn(replies):
    """Return a chat endpoint that ignores schemas and gives these answers in turn."""
    told = iter(replies)
    return chat_endpoint(
        lambda body: "Hello." if "response_format" in body or not body.get("stream") else next(told)
    )


@pytest.mark.model
@pytest.mark.parametrize("grammar", [JUDGE, 'root ::= [a-c]{3} ("\\n" [0-9]+)?', EXTRACT])
def test_llama_server_is_constrained_by_the_grammar(remote, grammar):
    answer = remote.complete(ASK, GenerationOptions(slot="form", max_tokens=24, grammar=grammar))
    assert answer.text
    assert answer.usage.completion_tokens > 0


def test_an_answer_in_the_format_is_accepted_also_inside_a_code_fence(connected):
    with run_fake_server(
        v1__models=MODELS, v1__chat__completions=answering_in_turn(["ADD", " NOOP 1\n", "```\nADD\n```"])
    ) as s:
        provider = connected(s)
        assert [provider.complete(ASK, GenerationOptions(slot="s", grammar=JUDGE)).text for _ in "123"] == [
            "ADD",
            "NOOP 1",
            "ADD",
        ]


def test_an_answer_in_the_wrong_format_is_requested_once_more_with_a_stricter_prompt(connected):
    with run_fake_server(
        v1__models=MODELS, v1__chat__completions=answering_in_turn(["I would ADD it.", "ADD"])
    ) as server:
        assert connected(server).complete(ASK, GenerationOptions(slot="s", grammar=JUDGE)).text == "ADD"
        first, second = (
            body["messages"][-1]["content"] for body in server.bodies("/v1/chat/completions")[-2:]
        )
        assert second == f"{first}\n{STRICTER}"


def test_two_answers_in_the_wrong_format_are_a_failure(connected):
    with run_fake_server(
        v1__models=MODELS, v1__chat__completions=answering_in_turn(["Sure!", "ADD it, please."])
    ) as server:
        with pytest.raises(FormatNotKept, match="wrong format twice") as failure:
            connected(server).complete(ASK, GenerationOptions(slot="s", grammar=JUDGE))
        assert failure.value.usage.completion_tokens > 0


def test_with_schemas_a_choice_is_an_enum_and_lines_are_a_pattern(connected):
    def enforce_schema(body):
        if "response_format" not in body:
            return "Hello."
        kind = body["response_format"]["json_schema"]["schema"]["properties"]["answer"]
        if "enum" in kind:
            return json.dumps({"answer": kind["enum"][0]})
        return '{"answer":"violet"}' if "violet" in kind["pattern"] else '{"answer":"none"}'

    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint(enforce_schema)) as server:
        provider = connected(server)
        assert provider.complete(ASK, GenerationOptions(slot="s", grammar=JUDGE)).text == "ADD"
        assert provider.complete(ASK, GenerationOptions(slot="s", grammar=EXTRACT)).text == "none"
        one, two = server.bodies("/v1/chat/completions")[-2:]
    assert one["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"] == [
        "ADD",
        "NOOP 1",
    ]
    assert "pattern" in two["response_format"]["json_schema"]["schema"]["properties"]["answer"]


def test_an_answer_cut_at_the_token_limit_is_returned_as_a_beginning(connected):
    def cut(body):
        if not body.get("stream"):
            return chat_endpoint("Hello.")(body)
        text = "home: User lives in Oslo\nlikes: User li"
        chunks = [{"delta": {"content": text}}, {"delta": {}, "finish_reason": "length"}]
        return iter([{"model": "m", "choices": [chunk]} for chunk in chunks])

    with run_fake_server(v1__models=MODELS, v1__chat__completions=cut) as server:
        answer = connected(server).complete(ASK, GenerationOptions(slot="s", grammar=EXTRACT))
    assert (answer.text, answer.finish) == ("home: User lives in Oslo\nlikes: User li", "length")
