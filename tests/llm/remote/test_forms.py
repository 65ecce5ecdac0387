"""An answer keeps to the form that was asked for, or it is a failure that is told, never a guess."""

from __future__ import annotations

import json

import pytest

from chat.llm.remote.bound import STRICTER
from chat.llm.types import FormNotKept, Turn
from chat.memory import prompt

from .pretend import chat, pretending

MODELS = {"data": [{"id": "m"}]}
JUDGE = 'root ::= "ADD" | "NOOP 1"'
EXTRACT = prompt.grammar("en")
ASK = [Turn("system", "You judge."), Turn("user", "Well?")]


def bound(replies):
    """A model that obeys no schema, and says these in turn."""
    told = iter(replies)
    return chat(lambda body: "Hello." if "response_format" in body or not body.get("stream") else next(told))


@pytest.mark.model
@pytest.mark.parametrize("grammar", [JUDGE, 'root ::= [a-c]{3} ("\\n" [0-9]+)?', EXTRACT])
def test_llama_server_is_bound_by_the_grammar_itself(remote, grammar):
    answer = remote.complete(ASK, slot="form", max_tokens=24, grammar=grammar)
    assert answer.text
    assert answer.usage.completion_tokens > 0


def test_an_answer_of_the_form_is_taken_also_with_a_fence_around_it(connected):
    with pretending(
        v1__models=MODELS, v1__chat__completions=bound(["ADD", " NOOP 1\n", "```\nADD\n```"])
    ) as s:
        provider = connected(s)
        assert [provider.complete(ASK, slot="s", grammar=JUDGE).text for _ in "123"] == [
            "ADD",
            "NOOP 1",
            "ADD",
        ]


def test_a_wrong_form_is_asked_for_once_more_and_more_strictly(connected):
    with pretending(v1__models=MODELS, v1__chat__completions=bound(["I would ADD it.", "ADD"])) as server:
        assert connected(server).complete(ASK, slot="s", grammar=JUDGE).text == "ADD"
        first, second = (
            body["messages"][-1]["content"] for body in server.bodies("/v1/chat/completions")[-2:]
        )
        assert second == f"{first}\n{STRICTER}"


def test_a_form_that_is_not_kept_twice_is_a_failure(connected):
    with pretending(v1__models=MODELS, v1__chat__completions=bound(["Sure!", "ADD it, please."])) as server:
        with pytest.raises(FormNotKept, match="did not keep to the form") as failure:
            connected(server).complete(ASK, slot="s", grammar=JUDGE)
        assert failure.value.usage.completion_tokens > 0


def test_with_schemas_a_choice_is_a_list_of_words_and_lines_are_a_pattern(connected):
    def obedient(body):
        if "response_format" not in body:
            return "Hello."
        kind = body["response_format"]["json_schema"]["schema"]["properties"]["answer"]
        if "enum" in kind:
            return json.dumps({"answer": kind["enum"][0]})
        return '{"answer":"violet"}' if "violet" in kind["pattern"] else '{"answer":"none"}'

    with pretending(v1__models=MODELS, v1__chat__completions=chat(obedient)) as server:
        provider = connected(server)
        assert provider.complete(ASK, slot="s", grammar=JUDGE).text == "ADD"
        assert provider.complete(ASK, slot="s", grammar=EXTRACT).text == "none"
        one, two = server.bodies("/v1/chat/completions")[-2:]
    assert one["response_format"]["json_schema"]["schema"]["properties"]["answer"]["enum"] == [
        "ADD",
        "NOOP 1",
    ]
    assert "pattern" in two["response_format"]["json_schema"]["schema"]["properties"]["answer"]


def test_an_answer_that_was_cut_at_its_length_is_half_of_the_form(connected):
    def cut(body):
        if not body.get("stream"):
            return chat("Hello.")(body)
        text = "home: User lives in Oslo\nlikes: User li"
        chunks = [{"delta": {"content": text}}, {"delta": {}, "finish_reason": "length"}]
        return iter([{"model": "m", "choices": [chunk]} for chunk in chunks])

    with pretending(v1__models=MODELS, v1__chat__completions=cut) as server:
        answer = connected(server).complete(ASK, slot="s", grammar=EXTRACT)
    assert (answer.text, answer.finish) == ("home: User lives in Oslo\nlikes: User li", "length")
