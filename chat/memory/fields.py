"""Which fields of life a text touches, by its words: food, health, home …, in the languages of design §5.

Vectors are English and optional (design §4), so words must do: "Suggest a dinner" and "is vegetarian" share
none, yet belong together. A star stands for any ending or any beginning; "@" binds a word to one language
where it means something else in another ("chat").
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from chat.memory.field_words import KINDS_OF, PHRASES, RELATIVES, UMBRELLAS, WORDS
from chat.memory.language import detect
from chat.memory.similar import tokens

_HAN = re.compile(r"[\u3400-\u9fff]")
_SHORTEST_PREFIX = 3
_REMEMBERED = 8192
_LOOSE = ("event", "habit")
_TIES = ("family", "relationship")

_exact: dict[str, set[tuple[str, str]]] = {}
_prefixes: dict[str, set[tuple[str, str]]] = {}
_suffixes: dict[str, set[tuple[str, str]]] = {}
_han: list[tuple[str, str]] = []


def _plain(word: str) -> str:
    """Return a word without accents: "diabète" begins as "diabetes" does."""
    if word.isascii() or _HAN.search(word):
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


def _enter(field: str, word: str) -> None:
    word, _, language = _plain(word).partition("@")
    if _HAN.search(word):
        _han.append((word, field))
    elif word.startswith("*"):
        _suffixes.setdefault(word[1:], set()).add((field, language))
    elif word.endswith("*"):
        _prefixes.setdefault(word[:-1], set()).add((field, language))
    else:
        _exact.setdefault(word, set()).add((field, language))


for _table in (WORDS, RELATIVES):
    for _field, _words in _table.items():
        for _word in _words.split():
            _enter(_field, _word)
_PHRASES = [(field, re.compile(pattern, re.IGNORECASE)) for field, pattern in PHRASES]


@lru_cache(maxsize=_REMEMBERED)
def fields(text: str) -> frozenset[str]:
    """Return the names of the fields and relatives that a text's words belong to."""
    found: set[tuple[str, str]] = set()
    for word in tokens(text.casefold()):
        if not word[0].isdigit():
            found |= _of_word(word.removesuffix("'s").removesuffix("’s"))
    names = {field for field, language in found if not language}
    if bound := {(field, language) for field, language in found if language}:
        spoken = detect(text)
        names |= {field for field, language in bound if language == spoken}
    if _HAN.search(text):
        names |= {field for word, field in _han if word in text}
    return frozenset(names)


def asked_fields(message: str) -> frozenset[str]:
    """Return the fields of a message: those of its words, and of its phrases about the user's own life."""
    return fields(message).union(field for field, pattern in _PHRASES if pattern.search(message))


@lru_cache(maxsize=_REMEMBERED)
def _of_word(word: str) -> frozenset[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    # Elided articles: "l'hôpital", "d'anniversaire".
    word = _plain(word)
    for part in {word, re.split(r"['’]", word)[-1]}:
        found |= _exact.get(part, set())
        for end in range(_SHORTEST_PREFIX, len(part) + 1):
            found |= _prefixes.get(part[:end], set())
            found |= _suffixes.get(part[-end:], set())
    return frozenset(found)


def forget_words() -> None:
    """Drop what is remembered of texts and their words."""
    fields.cache_clear()
    _of_word.cache_clear()


@lru_cache(maxsize=256)
def _wanted(asked: frozenset[str]) -> tuple[frozenset[str], tuple[tuple[str, frozenset[str]], ...]]:
    """Return the relatives that an asked one stands for, and the other fields with the kinds they need."""
    persons = asked & RELATIVES.keys()
    wider = frozenset(persons).union(*(UMBRELLAS.get(p, frozenset()) for p in persons))
    topics = sorted(asked - RELATIVES.keys())
    return wider, tuple((topic, frozenset(KINDS_OF.get(topic, ()))) for topic in topics)


def meets(asked: frozenset[str], kind: str, said: frozenset[str]) -> float:
    """Return how surely a fact of this kind and these fields belongs to a text of the fields `asked`, 0–1."""
    persons, topics = _wanted(asked)
    if persons and not (said.isdisjoint(persons) and (kind not in _TIES or "relatives" not in asked)):
        return 1.0
    best = 0.0
    for topic, kinds in topics:
        # A fact that no rule knew a better kind for is what its words say it is.
        if kind in kinds or (kind in _LOOSE and not kinds.isdisjoint(said)):
            best = max(best, 0.9 if topic in said else 0.8)
        # A dentist in the family says nothing about where the user lives.
        elif topic in said and topic != "place":
            best = max(best, 0.7)
    return best
