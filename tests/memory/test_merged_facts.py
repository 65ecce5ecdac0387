"""A detail that a message adds to a fact is merged into the fact's text, and nothing of either is lost."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.llm.scripted import ScriptedProvider
from chat.memory.consolidate import Action
from chat.memory.judge import judge_candidate
from chat.memory.merge import is_merged, loses_words

from .test_judge import make_candidate, make_fact

FACT = "User is building Selene"
DETAIL = "User's Selene is written in TypeScript"
MERGED = "User is building Selene, which is written in TypeScript"


@pytest.mark.parametrize(
    ("text", "candidate", "fact"),
    [
        (MERGED, DETAIL, FACT),
        ("User is building Selene, written in TypeScript", DETAIL, FACT),
        ("User has a dog called Rex", "User's dog is called Rex", "User has a dog"),
        (
            "Nutzer baut eine Garage mit einem Dach aus Zink",
            "Die Garage hat ein Dach aus Zink",
            "Nutzer baut eine Garage",
        ),
        (
            "User is training for a marathon in Oslo on 9 May",
            "The marathon is in Oslo on 9 May",
            "User is training for a marathon",
        ),
    ],
)
def test_a_text_that_says_both_is_accepted(text, candidate, fact):
    assert is_merged(text, candidate, fact)


@pytest.mark.parametrize(
    ("text", "candidate", "fact"),
    [
        (FACT, DETAIL, FACT),
        (DETAIL, DETAIL, FACT),
        ("Selene is written in TypeScript", DETAIL, FACT),
        ("User is building Selene in TypeScript for ADHD", DETAIL, FACT),
        ("User is building Selene, which is not written in TypeScript", DETAIL, FACT),
        ("User is building Selene, which is written in Rust", DETAIL, FACT),
        (
            "User is training for 2 marathons on 9 May",
            "The marathon is on 9 May",
            "User is training for a marathon",
        ),
        ("", DETAIL, FACT),
        (f"{MERGED}\nUser likes tea", DETAIL, FACT),
    ],
    ids=[
        "without the detail",
        "without the fact",
        "without the verb of the fact",
        "something new",
        "denied",
        "another name",
        "another number",
        "empty",
        "two lines",
    ],
)
def test_a_text_that_leaves_out_or_adds_something_is_not_accepted(text, candidate, fact):
    assert not is_merged(text, candidate, fact)


@given(st.text("abcdefghijklmnop", min_size=5, max_size=12))
def test_no_further_word_gets_into_a_merged_text(word):
    known = f"{FACT} {DETAIL} {MERGED}".casefold()
    text = f"User is building Selene, which is written in TypeScript and {word}"
    if not any(word[:4] in part or part[:4] in word for part in known.split()):
        assert not is_merged(text, DETAIL, FACT)


@pytest.mark.parametrize(
    ("candidate", "fact", "quote", "loses"),
    [
        (DETAIL, FACT, "Selene is written in TypeScript", True),
        ("User is building Selene in TypeScript", FACT, "I'm building Selene in TypeScript", False),
        ("User's Selene is finished", FACT, "Selene is finished now", False),
    ],
)
def test_only_a_statement_without_a_change_loses_words(candidate, fact, quote, loses):
    assert loses_words(candidate, fact, quote) is loses


def judge(*answers: str):
    provider = ScriptedProvider(completions=deque(answers))
    fact = make_fact(FACT)
    candidate = make_candidate(DETAIL, "Selene is written in TypeScript", "tools")
    return judge_candidate(provider, candidate, None, [fact], ""), fact, provider


def test_the_model_writes_the_merged_text():
    verdict, fact, provider = judge(f"UPDATE 1: {MERGED}")
    assert (verdict.opinion.action, verdict.opinion.target) == (Action.SUPERSEDE, fact.pk)
    assert verdict.opinion.text == MERGED
    assert '"UPDATE 1: " text' in provider.calls[0].grammar


@pytest.mark.parametrize("answer", ["UPDATE 1: User is building Selene in Rust", f"UPDATE 1: {DETAIL}"])
def test_a_merged_text_that_is_not_right_leaves_the_fact_and_adds_the_detail(answer):
    verdict, _, provider = judge(answer)
    assert (verdict.opinion, verdict.failure) == (None, "")
    assert len(provider.calls) == 1
