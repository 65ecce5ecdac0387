"""The part of a text that shows why it was found, as plain text that a page must escape. Pure functions."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from .query import SearchQuery
from .words import Word, iter_words

BEFORE, LENGTH = 40, 140  # characters
_MARKUP = re.compile(r"\*\*|`+|^#+\s+", re.M)


class Piece(NamedTuple):
    """A part of a snippet; `marked` where it matches the query."""

    text: str
    marked: bool


def make_snippet(text: str, query: SearchQuery) -> tuple[Piece, ...]:
    """Return the text around the first match, about LENGTH characters, with the matches marked."""
    plain = " ".join(_MARKUP.sub("", text).split())
    plain = unicodedata.normalize("NFC", plain)
    found = find_matches(plain, query)
    first = found[0][0] if found else 0
    begin = max(0, first - BEFORE)
    if begin:
        begin = plain.find(" ", begin, first) + 1 or begin
    end = begin + LENGTH
    pieces = list(_cut_pieces(plain, found, begin, min(end, len(plain))))
    if begin:
        pieces.insert(0, Piece("…", False))
    if end < len(plain):
        pieces.append(Piece("…", False))
    return tuple(pieces)


def mark_matches(text: str, query: SearchQuery) -> tuple[Piece, ...]:
    """Return the whole text with the matches marked."""
    plain = unicodedata.normalize("NFC", text)
    return tuple(_cut_pieces(plain, find_matches(plain, query), 0, len(plain)))


def find_matches(plain: str, query: SearchQuery) -> list[tuple[int, int]]:
    """Return the sorted spans of the query's parts in a text of form NFC; touching spans are joined."""
    there = list(iter_words(plain))
    forms = [word.form for word in there]
    spans = []
    for part in query.parts:
        for place, length in part.find_in(forms):
            last = there[place + length - 1]
            end = _find_match_end(last, part.words[-1]) if part.prefix else last.end
            spans.append((there[place].start, end))
    return _join_spans(sorted(spans))


def _find_match_end(word: Word, typed: str) -> int:
    """Return where the typed prefix of a word ends; the end of the word where its normalised form has another
    length.
    """
    same_length = word.end - word.start == len(word.form)
    whole = not same_length or not word.form.startswith(typed)
    return word.end if whole else word.start + len(typed)


def _join_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _cut_pieces(plain: str, found: list[tuple[int, int]], begin: int, end: int) -> list[Piece]:
    pieces = []
    here = begin
    for start, stop in found:
        if stop <= begin or start >= end:
            continue
        pieces.append(Piece(plain[here : max(start, here)], False))
        pieces.append(Piece(plain[max(start, here) : min(stop, end)], True))
        here = min(stop, end)
    pieces.append(Piece(plain[here:end], False))
    return [piece for piece in pieces if piece.text]
