"""Questions to the graph are parsed in seven languages."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.graph.questions import NOT_UNDERSTOOD, GraphQuery, parse_question
from chat.memory.graph.types import KINSHIP_RELATIONS

TABLE = Path(__file__).parent / "data" / "graph_questions.txt"


def rows():
    for line in TABLE.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        question, relations, types, subject, past = [*(p.strip() for p in line.split("|")), ""][:5]
        if relations == "?":
            yield question, NOT_UNDERSTOOD
            continue
        wanted = {"*": frozenset(), "KIN": frozenset(KINSHIP_RELATIONS)}.get(
            relations, frozenset(relations.split(","))
        )
        subject = "" if subject == "-" else subject
        yield question, GraphQuery(wanted, frozenset(types.split()), subject, past == "past")


def make_test_id(value):
    """Return a stable test id: the order of a set differs between processes."""
    return value if isinstance(value, str) else ""


@pytest.mark.parametrize(("question", "query"), list(rows()), ids=make_test_id)
def test_a_question_gives_the_expected_query(question, query):
    assert parse_question(question) == query


@given(st.text(max_size=200))
def test_no_question_raises_an_error(text):
    assert isinstance(parse_question(text), GraphQuery)
