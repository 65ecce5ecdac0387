"""A snippet is the part of a text around the first match, with all matches marked."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.search.matches import make_snippet, mark_matches
from chat.search.query import parse_query


def mark_pieces(pieces) -> str:
    return "".join(f"[{piece.text}]" if piece.marked else piece.text for piece in pieces)


def test_a_snippet_surrounds_the_first_match():
    text = "word " * 100 + "needle " + "word " * 100
    piece = mark_pieces(make_snippet(text, parse_query("needle")))
    assert piece.startswith("…word")
    assert piece.endswith("…")
    assert "[needle]" in piece
    assert len(piece) < 170


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("boa", "My BOAT, my boat", "My [BOA]T, my [boa]t"),
        ("cafe", "Im Café", "Im [Café]"),
        ("strasse", "Die Straße", "Die [Straße]"),
        ("muenchen", "In München", "In [München]"),
        ("上海", "我住在上海，", "我住在[上海]，"),
        ('"fair wind"', "A fair wind, fair", "A [fair wind], fair"),
        ("snake_case", "the snake_case way", "the [snake_case] way"),
        ("100 %", "100 % sure", "[100] [%] sure"),
        ("none", "nothing here", "nothing here"),
    ],
)
def test_matches_are_marked(query, text, expected):
    assert mark_pieces(mark_matches(text, parse_query(query))) == expected


@given(st.text(), st.text())
def test_marking_keeps_the_whole_text(text, query):
    assert "".join(piece.text for piece in mark_matches(text, parse_query(query))) == unicodedata.normalize(
        "NFC", text
    )


@given(st.text(), st.text())
def test_any_text_has_a_short_snippet(text, query):
    assert sum(len(piece.text) for piece in make_snippet(text, parse_query(query))) <= 142
