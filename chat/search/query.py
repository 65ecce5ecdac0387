"""What somebody typed into a search box, understood without ever being an error. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .words import words

# Beyond these a search costs more than it helps.
MOST_PARTS, MOST_WORDS = 8, 32

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»「」『』＂", '"'))
# Germans who lack the keys write "ue" for "ü", and look for either.
_UMLAUTS = {"ä": "ae", "ö": "oe", "ü": "ue"}
_WRITTEN_OUT = re.compile("|".join(_UMLAUTS.values()))


@dataclass(frozen=True, slots=True)
class Part:
    """Words that stand side by side, in one or two spellings; with `prefix` the last is a beginning."""

    spellings: tuple[tuple[str, ...], ...]
    prefix: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The words as they were typed."""
        return self.spellings[0]

    def places_in(self, text: list[str]) -> list[tuple[int, int]]:
        """Return where this part begins in the words of a text, and how many of them it is there."""
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
class Query:
    """Parts that must all be there, in any order."""

    parts: tuple[Part, ...]

    def __bool__(self) -> bool:
        return bool(self.parts)

    @cached_property
    def closed(self) -> Query:
        """The same of whole words alone."""
        return Query(tuple(Part(part.spellings) for part in self.parts))

    @cached_property
    def as_phrase(self) -> Query:
        """All parts side by side, as they were typed."""
        joined = tuple(word for part in self.parts for word in part.words)
        return Query((Part((joined,), self.parts[-1].prefix),))


def parse(text: str) -> Query:
    """Return what is looked for: words in any order, and as it stands what is in quotes or without blanks.

    The last word is the beginning of one, unless quotes close it; a single letter is a word of its own. A
    text without a word asks for nothing.
    """
    plain = unicodedata.normalize("NFC", text).translate(_QUOTES)
    found: list[Part] = []
    room = MOST_WORDS
    for piece, open_end in _pieces(plain):
        typed = tuple(words(piece)[:room])
        if typed and len(found) < MOST_PARTS:
            room -= len(typed)
            found.append(Part(_spellings(piece, typed), open_end and _may_go_on(typed[-1])))
    # Only the last word is still being typed.
    return Query((*Query(tuple(found[:-1])).closed.parts, *found[-1:]))


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield what was typed without blanks, and what stands in quotes; and whether its end is open."""
    outside = text.split('"')
    for n, stretch in enumerate(outside):
        if n % 2:
            yield stretch, n == len(outside) - 1
        else:
            yield from ((piece, True) for piece in stretch.split())


def _may_go_on(word: str) -> bool:
    # One letter begins a tenth of all words, and one sign or character of Chinese is whole.
    return len(word) > 1


def _spellings(piece: str, typed: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    small = piece.lower()
    other = "".join(_UMLAUTS.get(letter, letter) for letter in small)
    if other == small and small.isascii():
        other = _WRITTEN_OUT.sub(lambda found: found[0][0], small)
    spelt = tuple(words(other)[: len(typed)])
    return (typed,) if spelt == typed else (typed, spelt)


def fts5(query: Query, shelf: str) -> str:
    """Return a query as SQLite's FTS5 reads it, within one shelf; nothing that was typed is syntax there."""
    wanted = " AND ".join(f"({_either(part, ' + ', ' *', ' OR ')})" for part in query.parts)
    return f'shelf : "{shelf}" AND words : ({wanted})'


def tsquery(query: Query) -> str:
    """Return a query as PostgreSQL reads it."""
    return " & ".join(f"({_either(part, ' <-> ', ':*', ' | ', quote=chr(39))})" for part in query.parts)


def _either(part: Part, then: str, star: str, other: str, quote: str = '"') -> str:
    # Words hold letters, digits and a few signs: neither kind of quote, nor a backslash.
    ways = (then.join(f"{quote}{word}{quote}" for word in spelling) for spelling in part.spellings)
    return other.join(f"({way}{star})" if part.prefix else f"({way})" for way in ways)
