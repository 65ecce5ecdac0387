"""What is typed is understood, whatever it is, and never reaches a database as syntax."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.search.query import MOST_PARTS, MOST_WORDS, fts5, parse, tsquery


@pytest.fixture(scope="module")
def index():
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE f USING fts5(shelf, words, tokenize=\"ascii tokenchars '+#%&@$'\")"
    )
    database.execute("INSERT INTO f VALUES ('m1', 'a boat needs wind')")
    return database


def parts(text: str) -> list[str]:
    return [" ".join(part.words) + ("*" if part.prefix else "") for part in parse(text).parts]


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ("boat wind", ["boat", "wind*"]),
        ('boat "fair wind"', ["boat", "fair wind"]),
        ("“fair wind” boat", ["fair wind", "boat*"]),
        ('boat "fair wi', ["boat", "fair wi*"]),
        ("Über-Segel", ["uber segel*"]),
        ("上海", ["上 海"]),
        ("a", ["a"]),
        ("c++", ["c + +"]),
        ("  ", []),
        ('"" * ( ) - ^ : \\', []),
        ("NEAR(boat wind) OR NOT x", ["near boat", "wind", "or", "not", "x"]),
    ],
)
def test_words_phrases_and_beginnings(typed, understood):
    assert parts(typed) == understood


def test_umlauts_are_looked_for_in_both_spellings():
    assert parse("München").parts[0].spellings == (("munchen",), ("muenchen",))
    assert parse("Muenchen").parts[0].spellings == (("muenchen",), ("munchen",))
    assert parse("boat").parts[0].spellings == (("boat",),)


def test_a_query_without_end_is_cut():
    found = parse(" ".join(f"word{n}-and-more" for n in range(500)))
    assert len(found.parts) <= MOST_PARTS
    assert sum(len(part.words) for part in found.parts) <= MOST_WORDS


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\"*():^-+{}\\'&|!<> aAORNEAR"))))
def test_sqlite_takes_whatever_is_typed(index, typed):
    query = parse(typed)
    if query:
        index.execute("SELECT rowid FROM f WHERE f MATCH ?", [fts5(query, "m1")]).fetchall()
        index.execute("SELECT rowid FROM f WHERE f MATCH ?", [fts5(query.as_phrase, "m1")]).fetchall()


@given(st.text())
def test_what_postgresql_gets_has_balanced_quotes_and_no_backslash(typed):
    if query := parse(typed):
        wanted = tsquery(query)
        assert "\\" not in wanted
        assert wanted.count("'") == 2 * sum(len(s) for part in query.parts for s in part.spellings)
