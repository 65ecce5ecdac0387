"""Any typed query is parsed, and no part of it reaches the database as query syntax."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.search.query import MOST_PARTS, MOST_WORDS, parse_query, to_fts5, to_tsquery


@pytest.fixture(scope="module")
def index():
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE VIRTUAL TABLE f USING fts5(shelf, words, tokenize=\"ascii tokenchars '+#%&@$'\")"
    )
    database.execute("INSERT INTO f VALUES ('m1', 'a boat needs wind')")
    return database


def parse_parts(text: str) -> list[str]:
    return [" ".join(part.words) + ("*" if part.prefix else "") for part in parse_query(text).parts]


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
def test_queries_are_split_into_words_phrases_and_prefixes(typed, understood):
    assert parse_parts(typed) == understood


def test_umlauts_are_searched_in_both_spellings():
    assert parse_query("München").parts[0].spellings == (("munchen",), ("muenchen",))
    assert parse_query("Muenchen").parts[0].spellings == (("muenchen",), ("munchen",))
    assert parse_query("boat").parts[0].spellings == (("boat",),)


def test_a_very_long_query_is_cut():
    found = parse_query(" ".join(f"word{n}-and-more" for n in range(500)))
    assert len(found.parts) <= MOST_PARTS
    assert sum(len(part.words) for part in found.parts) <= MOST_WORDS


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("\"*():^-+{}\\'&|!<> aAORNEAR"))))
def test_sqlite_accepts_any_query(index, typed):
    query = parse_query(typed)
    if query:
        index.execute("SELECT rowid FROM f WHERE f MATCH ?", [to_fts5(query, "m1")]).fetchall()
        index.execute("SELECT rowid FROM f WHERE f MATCH ?", [to_fts5(query.as_phrase, "m1")]).fetchall()


@given(st.text())
def test_postgresql_queries_have_balanced_quotes_and_no_backslash(typed):
    if query := parse_query(typed):
        wanted = to_tsquery(query)
        assert "\\" not in wanted
        assert wanted.count("'") == 2 * sum(len(s) for part in query.parts for s in part.spellings)
