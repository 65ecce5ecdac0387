"""A snippet is the piece of a text around what was looked for, with that marked."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.search.query import parse
from chat.search.snippets import marked, snippet


def told(pieces) -> str:
    return "".join(f"[{piece.text}]" if piece.marked else piece.text for piece in pieces)


def test_it_is_the_piece_around_the_first_place():
    text = "word " * 100 + "needle " + "word " * 100
    piece = told(snippet(text, parse("needle")))
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
def test_marks(query, text, expected):
    assert told(marked(text, parse(query))) == expected


@given(st.text(), st.text())
def test_marking_loses_nothing(text, query):
    assert "".join(piece.text for piece in marked(text, parse(query))) == unicodedata.normalize("NFC", text)


@given(st.text(), st.text())
def test_any_text_has_a_short_snippet(text, query):
    assert sum(len(piece.text) for piece in snippet(text, parse(query))) <= 142
