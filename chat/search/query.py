"""Parses a search text into parts; any text is a valid query. Pure functions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .words import split_words

# Limits of a query; more parts or words would make a search slow.
MOST_PARTS, MOST_WORDS = 8, 32
# Fewer characters are part of too many words.
SHORTEST_INSIDE = 3

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»「」『』＂", '"'))
# German umlauts can be written as "ue" for "ü"; a search finds both spellings.
_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue"}
_WRITTEN_OUT = re.compile("|".join(_UMLAUTS.values()))


@dataclass(frozen=True, slots=True)
class QueryPart:
    """Adjacent words in one or two spellings; with `prefix` the last word may be the beginning of a word.

    A `quoted` part is never searched inside of longer words.
    """

    spellings: tuple[tuple[str, ...], ...]
    prefix: bool = False
    quoted: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The words as they were typed."""
        return self.spellings[0]

    def find_in(self, text: list[str]) -> list[tuple[int, int]]:
        """Return where this part occurs in a list of words, as pairs of position and number of words."""
        first = tuple(spelling[0] for spelling in self.spellings)
        if self.prefix and len(self.words) == 1:
            likely = [place for place, word in enumerate(text) if word.startswith(first)]
        else:
            likely = [place for place, word in enumerate(text) if word in first]
        return [(place, length) for place in likely if (length := self._length_at(text, place))]

    def _length_at(self, text: list[str], place: int) -> int:
        for spelling in self.spellings:
            end = place + len(spelling)
            if end > len(text) or text[place : end - 1] != list(spelling[:-1]):
                continue
            if text[end - 1] == spelling[-1] or (self.prefix and text[end - 1].startswith(spelling[-1])):
                return len(spelling)
        return 0


@dataclass(frozen=True)
class SearchQuery:
    """Parts that must all occur, in any order."""

    parts: tuple[QueryPart, ...]

    def __bool__(self) -> bool:
        return bool(self.parts)

    @cached_property
    def whole_words(self) -> SearchQuery:
        """The same query with whole words only."""
        return SearchQuery(tuple(QueryPart(part.spellings, quoted=part.quoted) for part in self.parts))

    @cached_property
    def anywhere(self) -> bool:
        """Whether the parts may be searched inside of words: no quoted ones, none too short."""
        long_enough = all(len(" ".join(part.words)) >= SHORTEST_INSIDE for part in self.parts)
        return bool(self.parts) and long_enough and not any(part.quoted for part in self.parts)

    @cached_property
    def as_phrase(self) -> SearchQuery:
        """The same query with all parts adjacent, as they were typed."""
        joined = tuple(word for part in self.parts for word in part.words)
        return SearchQuery((QueryPart((joined,), self.parts[-1].prefix),))


def parse_query(text: str) -> SearchQuery:
    """Return the query of a search text: words in any order; quoted text, and text without blanks, as
    adjacent words.

    The last word is a prefix unless a quote closes it or it is a single letter. A text without a word gives
    an empty query.
    """
    plain = unicodedata.normalize("NFC", text).translate(_QUOTES)
    found: list[QueryPart] = []
    room = MOST_WORDS
    for piece, open_end in _split_pieces(plain):
        typed = tuple(split_words(piece)[:room])
        if typed and len(found) < MOST_PARTS:
            room -= len(typed)
            prefix = open_end and _can_be_prefix(typed[-1])
            found.append(QueryPart(_find_spellings(piece, typed), prefix, quoted=not open_end))
    # Only the last part can be a prefix.
    return SearchQuery((*SearchQuery(tuple(found[:-1])).whole_words.parts, *found[-1:]))


def _split_pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield words and quoted texts, and whether their end is open."""
    outside = text.split('"')
    for n, stretch in enumerate(outside):
        if n % 2:
            yield stretch, n == len(outside) - 1
        else:
            yield from ((piece, True) for piece in stretch.split())


def _can_be_prefix(word: str) -> bool:
    # A search for one letter would match about a tenth of all words. A single sign or Chinese character is a
    # whole word.
    return len(word) > 1


def _find_spellings(piece: str, typed: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    small = piece.lower()
    other = "".join(_UMLAUTS.get(letter, letter) for letter in small)
    if other == small and small.isascii():
        other = _WRITTEN_OUT.sub(lambda found: found[0][0], small)
    spelt = tuple(split_words(other)[: len(typed)])
    return (typed,) if spelt == typed else (typed, spelt)


def to_fts5(query: SearchQuery, shelf: str) -> str:
    """Return the query in SQLite's FTS5 syntax, limited to one shelf. Typed text cannot contain syntax."""
    wanted = " AND ".join(f"({_join_spellings(part, ' + ', ' *', ' OR ')})" for part in query.parts)
    return f'shelf : "{shelf}" AND words : ({wanted})'


def to_tsquery(query: SearchQuery) -> str:
    """Return the query in PostgreSQL's tsquery syntax."""
    return " & ".join(
        f"({_join_spellings(part, ' <-> ', ':*', ' | ', quote=chr(39))})" for part in query.parts
    )


def _join_spellings(part: QueryPart, then: str, star: str, other: str, quote: str = '"') -> str:
    # Words contain letters, digits and a few signs, but neither quotes nor backslashes.
    ways = (then.join(f"{quote}{word}{quote}" for word in spelling) for spelling in part.spellings)
    return other.join(f"({way}{star})" if part.prefix else f"({way})" for way in ways)
