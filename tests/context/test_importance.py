"""A message's importance is scored by rules on its words; how well is measured on labelled messages."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.context.importance import (
    IMPORTANT,
    Signal,
    count_signs,
    resolve_importance,
    score_importance,
)

from .importance_cases import HELD_OUT, TUNED, Labelled

words = st.text(max_size=300)
pieces = st.lists(
    st.sampled_from(
        ["We decided", "12 kg", "`code`", "Anna", "remember that", "?", "1,1.", "hat a b", "ok,", "\n", ". "]
    ),
    max_size=400,
).map(" ".join)


def measure(cases: Sequence[Labelled]) -> tuple[float, float]:
    """Return precision and recall of the scores on labelled messages."""
    found = [
        case for case in cases if score_importance(case.text, is_reply=case.role == "assistant") >= IMPORTANT
    ]
    right = sum(case.important for case in found)
    return right / len(found), right / sum(case.important for case in cases)


def test_on_the_messages_of_the_rules():
    precision, recall = measure(TUNED)
    assert (round(precision, 2), round(recall, 2)) == (0.99, 0.96)


def test_on_messages_that_were_held_out():
    precision, recall = measure(HELD_OUT)
    # 28 of these 60 messages are important.
    assert precision >= 0.95
    assert recall >= 0.75


@pytest.mark.parametrize(
    ("text", "signals"),
    [
        ("Let's go with the oak table.", {Signal.DECISION: 1}),
        ("Remember that I eat no fish.", {Signal.REMEMBER: 1}),
        ("It weighs 72 kg and costs 1,500 euros.", {Signal.FIGURE: 2}),
        ("There are 14 of us.", {Signal.NUMBER: 1}),
        ("Then I met Anna.", {Signal.NAME: 1}),
        ("```\nx = 1\n```", {Signal.CODE: 1}),
        ("Maybe let's go with the oak table.", {}),
        ("ok thanks", {}),
        ("", {}),
    ],
)
def test_signs_are_counted_by_kind(text, signals):
    assert count_signs(text) == signals


def test_a_question_states_little():
    statement, question = "The tower is 300 m high.", "Is the tower 300 m high?"
    assert score_importance(question) < IMPORTANT <= score_importance(statement)
    assert score_importance(f"{statement} {question}") == score_importance(statement)


def test_figures_of_a_reply_count_less_than_those_of_the_user():
    text = "Boil it for 7 minutes."
    assert score_importance(text, is_reply=True) < IMPORTANT <= score_importance(text)


@given(words | pieces, st.booleans())
def test_every_text_has_a_score_between_zero_and_one(text, is_reply):
    score = score_importance(text, is_reply=is_reply)
    assert 0 <= score <= 1
    assert score == score_importance(text, is_reply=is_reply)


@given(words, st.booleans())
def test_a_request_to_remember_makes_any_message_important(text, is_reply):
    said = text.replace("`", "").replace("~", "")[:200]
    assert score_importance(f"Remember that I eat no fish.\n{said}", is_reply=is_reply) >= IMPORTANT


@given(pieces)
def test_a_further_figure_never_lowers_the_score(text):
    assert score_importance(f"{text}.\nIt costs 731 euros.") >= score_importance(f"{text}.\nIt costs.")


@pytest.mark.parametrize(
    "part",
    ["1,1.", "a", "ich habe ", "`x ", "we have ", "a_", "hat a b c d ", "ok, ", "A a", "```", "12 kg "],
)
def test_no_text_takes_long(part):
    began = time.thread_time()
    score_importance(part * (200_000 // len(part)))
    assert time.thread_time() - began < 0.25


@given(st.none() | st.floats(0, 1), words, st.booleans(), st.booleans())
def test_the_users_mark_overrules_the_score(stored, text, flagged, is_reply):
    found = resolve_importance(stored, text, flagged=flagged, is_reply=is_reply)
    if flagged:
        assert found == 1
    elif stored is not None:
        assert found == stored
    else:
        assert found == score_importance(text, is_reply=is_reply)
