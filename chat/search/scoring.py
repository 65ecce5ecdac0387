"""How well a text answers a query: by its own words alone, so no other text weighs in it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from .query import Part, Query

# Side by side as typed or, of one word, the whole word; close together; somewhere.
BEST, NEAR, SOMEWHERE = 3, 2, 1
# Characters that may stand between the words that were looked for: some six words.
_BETWEEN = 40
# Reciprocal rank fusion's constant (Cormack, Clarke and Büttcher 2009).
_K = 60

T = TypeVar("T")


def level(words: str, query: Query) -> int:
    """Return how well a text answers, 0 where a part is missing in it; its words have blanks between them."""
    text = f" {words} "
    places = [_places(text, part) for part in query.parts]
    if not all(places):
        return 0
    if len(places) == 1:
        whole = any(f" {' '.join(spelling)} " in text for spelling in query.parts[0].spellings)
        return BEST if whole else SOMEWHERE
    if _places(text, query.as_phrase.parts[0]):
        return BEST
    typed = sum(len(word) + 1 for part in query.parts for word in part.words)
    return NEAR if _stretch(places) <= typed + _BETWEEN else SOMEWHERE


def _places(text: str, part: Part) -> list[tuple[int, int]]:
    """Return where a part begins and ends in a text, in characters."""
    places = []
    for spelling in part.spellings:
        wanted = f" {' '.join(spelling)}{'' if part.prefix else ' '}"
        at = text.find(wanted)
        while at >= 0:
            places.append((at, at + len(wanted)))
            at = text.find(wanted, at + 1)
    return places


def _stretch(places: list[list[tuple[int, int]]]) -> int:
    """Return how many characters the shortest stretch has that holds every part."""
    marks = sorted((start, end, n) for n, found in enumerate(places) for start, end in found)
    last: dict[int, int] = {}
    shortest = marks[-1][1]
    for start, end, n in marks:
        last[n] = start
        if len(last) == len(places):
            shortest = min(shortest, end - min(last.values()))
    return shortest


def fused(*rankings: Sequence[T]) -> dict[T, float]:
    """Return a score between 0 and 1 for everything in these rankings: who stands high in several leads.

    1 is for what leads them all.
    """
    scores: dict[T, float] = {}
    for ranking in rankings:
        for place, item in enumerate(ranking):
            scores[item] = scores.get(item, 0.0) + (_K + 1) / (_K + 1 + place) / len(rankings)
    return scores
