"""How well a text matches a query, from its own words only, and the part of it that shows the match.

Pure functions. A snippet is plain text that a page must escape.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from .query import SHORTEST_INSIDE, QueryPart, SearchQuery
from .words import Word, iter_words

# BEST: adjacent as typed, or for one word the whole word. NEAR: close together. SOMEWHERE: anywhere in the
# text.
BEST, NEAR, SOMEWHERE = 3, 2, 1
# NEAR allows so many characters between the words: about six words.
_BETWEEN = 40
# Reciprocal rank fusion's constant (Cormack, Clarke and Büttcher 2009).
_K = 60

T = TypeVar("T")


def match_level(words: str, query: SearchQuery) -> int:
    """Return BEST, NEAR or SOMEWHERE, or 0 where a part is missing.

    `words` are normalised words separated by blanks.
    """
    text = f" {words} "
    places = [_find_places(text, part) for part in query.parts]
    if not all(places):
        return 0
    if len(places) == 1:
        whole = any(f" {' '.join(spelling)} " in text for spelling in query.parts[0].spellings)
        return BEST if whole else SOMEWHERE
    if _find_places(text, query.as_phrase.parts[0]):
        return BEST
    typed = sum(len(word) + 1 for part in query.parts for word in part.words)
    return NEAR if _shortest_span(places) <= typed + _BETWEEN else SOMEWHERE


def _find_places(text: str, part: QueryPart) -> list[tuple[int, int]]:
    """Return the start and end of each occurrence of a part in a text, in characters."""
    places = []
    for spelling in part.spellings:
        wanted = f" {' '.join(spelling)}{'' if part.prefix else ' '}"
        at = text.find(wanted)
        while at >= 0:
            places.append((at, at + len(wanted)))
            at = text.find(wanted, at + 1)
    return places


def _shortest_span(places: list[list[tuple[int, int]]]) -> int:
    """Return the length in characters of the shortest span that contains every part."""
    marks = sorted((start, end, n) for n, found in enumerate(places) for start, end in found)
    last: dict[int, int] = {}
    shortest = marks[-1][1]
    for start, end, n in marks:
        last[n] = start
        if len(last) == len(places):
            shortest = min(shortest, end - min(last.values()))
    return shortest


def fuse_rankings(*rankings: Sequence[T]) -> dict[T, float]:
    """Return a score above 0 and at most 1 for each item by reciprocal rank fusion: an item that is first in
    every ranking gets 1.
    """
    scores: dict[T, float] = {}
    for ranking in rankings:
        for place, item in enumerate(ranking):
            scores[item] = scores.get(item, 0.0) + (_K + 1) / (_K + 1 + place) / len(rankings)
    return scores


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
    """Return the sorted spans of the query's parts in a text of form NFC; touching spans are joined.

    Where a part does not occur, these are the spans of its words inside of longer words.
    """
    there = list(iter_words(plain))
    forms = [word.form for word in there]
    spans = []
    for part in query.parts:
        found = part.find_in(forms)
        for place, length in found:
            last = there[place + length - 1]
            end = _find_match_end(last, part.words[-1]) if part.prefix else last.end
            spans.append((there[place].start, end))
        if not found and query.anywhere:
            spans += _find_inside(there, part)
    return _join_spans(sorted(spans))


def _find_inside(there: Sequence[Word], part: QueryPart) -> list[tuple[int, int]]:
    """Return the spans of a part's words inside of longer words.

    Of a word whose normalised form has another length, it is the whole word.
    """
    typed = {word for spelling in part.spellings for word in spelling if len(word) >= SHORTEST_INSIDE}
    spans = []
    for word in there:
        for inside in typed:
            if (place := word.form.find(inside)) >= 0:
                same_length = word.end - word.start == len(word.form)
                begin = word.start + place
                spans.append((begin, begin + len(inside)) if same_length else (word.start, word.end))
    return spans


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
