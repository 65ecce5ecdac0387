"""GBNF grammars are parsed as llama.cpp parses them, and answers are checked against them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.context import summary, title
from chat.errors import GrammarError
from chat.llm.remote.constrained import parse_grammar
from chat.memory import app_memories, app_memory_eviction, extraction_prompt

OURS = {
    "extract": extraction_prompt.build_grammar("en"),
    "forced": extraction_prompt.build_grammar("de", silent=False),
    "family": extraction_prompt.build_grammar("zh", family=True),
    "title": title._GRAMMAR,
    "choice": app_memory_eviction._build_grammar(10, [2, 3]),
    "summary": summary._grammar("The user "),
    "app memory": app_memories.build_grammar("The user "),
    "judge": 'root ::= "ADD" | "NOOP 1" | "DELETE 2"',
}


@pytest.mark.parametrize(
    ("name", "answer", "whole"),
    [
        ("extract", "none", True),
        ("extract", "home: User lives in Oslo", True),
        ("extract", "home?: User lives in Oslo\nlikes: User likes tea", True),
        ("extract", "home: User lives in Oslo\n", False),
        ("extract", "Here are the notes:\nhome: User lives in Oslo", False),
        ("extract", "weather: User lives in Oslo", False),
        ("forced", "none", False),
        ("forced", "home: Nutzer lebt in Oslo", True),
        ("family", "family: 用户有一个女儿", True),
        ("title", "Red wine on a carpet", True),
        ("title", 'Title: "Red wine"', False),
        ("choice", "edit 3", True),
        ("choice", "edit 4", False),
        ("choice", "delete 10", True),
        ("summary", "The user builds a shed of 2.5 m.", True),
        ("summary", "The user builds a shed", False),
        ("app memory", "The user builds a shed.", False),
        ("app memory", "The user builds a shed. It is 2.5 m wide.", True),
        ("app memory", "The user builds a shed. Jens helps. They begin in May. The wood is there.", True),
        ("app memory", "The user builds. Jens helps. It is May. Wood is there. All is well.", False),
        ("judge", "NOOP 1", True),
        ("judge", "NOOP 1.", False),
    ],
)
def test_complete_answers_are_recognised(name, answer, whole):
    assert parse_grammar(OURS[name]).is_complete(answer) is whole


def test_a_beginning_of_an_answer_is_distinguished_from_a_wrong_one():
    answers = parse_grammar(OURS["extract"])
    assert answers.is_beginning("home: User liv")
    assert answers.is_beginning("")
    assert not answers.is_beginning("Sure! ")


def test_checking_takes_time_linear_in_the_length_of_the_answer():
    answers = parse_grammar(OURS["summary"])
    assert not answers.is_complete("The user " + "a1" * 5000)
    assert answers.is_beginning("The user " + "a.1" * 3000)


@pytest.mark.parametrize("name", OURS)
@given(data=st.data())
def test_the_regular_expression_accepts_the_same_answers_as_the_grammar(name, data):
    answers = parse_grammar(OURS[name])
    answer = data.draw(st.from_regex(answers.pattern, fullmatch=True))
    # In Python only, `$` also matches before a final line break.
    assert answers.is_complete(answer) or answers.is_complete(answer.removesuffix("\n"))
    other = data.draw(st.text(max_size=30))
    assert answers.is_complete(other) == (re.fullmatch(answers.pattern, other) is not None)


def test_a_small_set_of_answers_is_listed_and_a_large_one_is_not():
    assert parse_grammar(OURS["judge"]).texts == ("ADD", "NOOP 1", "DELETE 2")
    texts = parse_grammar(OURS["choice"]).texts
    assert texts is not None
    assert len(texts) == 12
    assert parse_grammar(OURS["extract"]).texts is None


@pytest.mark.parametrize(
    "grammar",
    ["", "root ::= root", "root ::= other", 'root ::= ("a"', "start ::= x", "root ::= =", "root ::= ]"],
)
def test_an_invalid_grammar_is_refused(grammar):
    with pytest.raises(GrammarError):
        parse_grammar(grammar)
