"""Grammars are read the same way as llama.cpp reads them, and answers are judged by them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.context import summary, title
from chat.llm.remote import gbnf
from chat.memory import app_choice, prompt

OURS = {
    "extract": prompt.grammar("en"),
    "forced": prompt.grammar("de", silent=False),
    "family": prompt.grammar("zh", family=True),
    "title": title._GRAMMAR,
    "choice": app_choice._grammar(10, [2, 3]),
    "summary": summary._grammar("The user "),
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
        ("judge", "NOOP 1", True),
        ("judge", "NOOP 1.", False),
    ],
)
def test_an_answer_is_of_the_form_or_it_is_not(name, answer, whole):
    assert gbnf.read(OURS[name]).accepts(answer) is whole


def test_half_an_answer_is_known_from_one_that_went_wrong():
    form = gbnf.read(OURS["extract"])
    assert form.begins("home: User liv")
    assert form.begins("")
    assert not form.begins("Sure! ")


def test_a_long_answer_is_judged_in_time_that_grows_with_its_length_only():
    form = gbnf.read(OURS["summary"])
    assert not form.accepts("The user " + "a1" * 5000)
    assert form.begins("The user " + "a.1" * 3000)


@pytest.mark.parametrize("name", OURS)
@given(data=st.data())
def test_the_pattern_that_servers_are_given_means_the_same(name, data):
    form = gbnf.read(OURS[name])
    answer = data.draw(st.from_regex(form.pattern(), fullmatch=True))
    # `$` also stands before a last line break, in Python alone.
    assert form.accepts(answer) or form.accepts(answer.removesuffix("\n"))
    other = data.draw(st.text(max_size=30))
    assert form.accepts(other) == (re.fullmatch(form.pattern(), other) is not None)


def test_few_answers_are_listed_and_many_are_not():
    assert gbnf.read(OURS["judge"]).words() == ["ADD", "NOOP 1", "DELETE 2"]
    words = gbnf.read(OURS["choice"]).words()
    assert words is not None
    assert len(words) == 12
    assert gbnf.read(OURS["extract"]).words() is None


@pytest.mark.parametrize(
    "grammar",
    ["", "root ::= root", "root ::= other", 'root ::= ("a"', "start ::= x", "root ::= =", "root ::= ]"],
)
def test_a_grammar_that_is_none_is_refused(grammar):
    with pytest.raises(gbnf.Unreadable):
        gbnf.read(grammar)
