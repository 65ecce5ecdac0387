"""How well a text matches a query, from its own words only. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from .query import QueryPart, SearchQuery

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
