"""What a question asks of the graph, in seven languages."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.memory.graph.questions import NOT_UNDERSTOOD, Query, parse
from chat.memory.graph.tie import KIN

TABLE = Path(__file__).parent / "data" / "graph_questions.txt"


def rows():
    for line in TABLE.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        question, relations, types, subject, past = [*(p.strip() for p in line.split("|")), ""][:5]
        if relations == "?":
            yield question, NOT_UNDERSTOOD
            continue
        wanted = {"*": frozenset(), "KIN": frozenset(KIN)}.get(relations, frozenset(relations.split(",")))
        subject = "" if subject == "-" else subject
        yield question, Query(wanted, frozenset(types.split()), subject, past == "past")


def named(value):
    """A set is shown in another order by each process, and all of them must call a test the same."""
    return value if isinstance(value, str) else ""


@pytest.mark.parametrize(("question", "query"), list(rows()), ids=named)
def test_a_question_is_understood_as_meant(question, query):
    assert parse(question) == query


@settings(deadline=None)
@given(st.text(max_size=200))
def test_no_text_breaks_the_reading_of_questions(text):
    assert isinstance(parse(text), Query)
