"""The piece of a text that shows why it was found, as plain text that a page has to escape. Pure."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from .query import Query
from .words import Word, placed

BEFORE, LENGTH = 40, 140  # characters
_MARKUP = re.compile(r"\*\*|`+|^#+\s+", re.M)


class Piece(NamedTuple):
    """A stretch of a snippet; `marked` where it is what was looked for."""

    text: str
    marked: bool


def snippet(text: str, query: Query) -> tuple[Piece, ...]:
    """Return the piece of a text around the first thing that was looked for, at most some 140 characters."""
    plain = " ".join(_MARKUP.sub("", text).split())
    plain = unicodedata.normalize("NFC", plain)
    found = marks(plain, query)
    first = found[0][0] if found else 0
    begin = max(0, first - BEFORE)
    if begin:
        begin = plain.find(" ", begin, first) + 1 or begin
    end = begin + LENGTH
    pieces = list(_cut(plain, found, begin, min(end, len(plain))))
    if begin:
        pieces.insert(0, Piece("…", False))
    if end < len(plain):
        pieces.append(Piece("…", False))
    return tuple(pieces)


def marked(text: str, query: Query) -> tuple[Piece, ...]:
    """Return a whole text with what was looked for marked."""
    plain = unicodedata.normalize("NFC", text)
    return tuple(_cut(plain, marks(plain, query), 0, len(plain)))


def marks(plain: str, query: Query) -> list[tuple[int, int]]:
    """Return where the parts of a query stand in a text of form NFC, in order, joined where they touch."""
    there = list(placed(plain))
    forms = [word.form for word in there]
    spans = []
    for part in query.parts:
        for place, length in part.places_in(forms):
            last = there[place + length - 1]
            end = _end_of(last, part.words[-1]) if part.prefix else last.end
            spans.append((there[place].start, end))
    return _joined(sorted(spans))


def _end_of(word: Word, typed: str) -> int:
    """Return where the beginning of a word that was typed ends; of letters that unfold, the whole word."""
    same_length = word.end - word.start == len(word.form)
    whole = not same_length or not word.form.startswith(typed)
    return word.end if whole else word.start + len(typed)


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _cut(plain: str, found: list[tuple[int, int]], begin: int, end: int) -> list[Piece]:
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
