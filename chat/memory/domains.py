"""Detects the domains of life of a text by its words: food, health, home …, in seven languages.

Domains connect texts that share no word, such as "Suggest a dinner" and "is vegetarian", where the vectors of
an embedder are too far apart or missing. With use-multilingual-v3, 168 of 184 recall cases are right with the
word lists and 134 without them; with the facts of 20 other cases added, 201 and 181 of 261 facts are found.

In the word lists of `domain_words` "bak*" matches any ending, "*essen" any beginning, and "son@en" counts
only in texts in English, because the word means something else in another language.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .domain_words import DOMAIN_PHRASES, DOMAIN_WORDS, KINDS_BY_DOMAIN, OVERLAPPING_RELATIVES, RELATIVE_WORDS
from .language import detect_language
from .text_similarity import remove_accents, tokenize

_HAN = re.compile(r"[\u3400-\u9fff]")
_SHORTEST_PREFIX = 3
_CACHE_SIZE = 8192
# Kinds that a fact gets when no rule knows a better one, so its words decide about its domain.
_UNSPECIFIC_KINDS = ("event", "habit")
_RELATIVE_KINDS = ("family", "relationship")

# Indexes of the word lists: the word, prefix or suffix gives pairs of domain and language ("" for all).
_exact: dict[str, set[tuple[str, str]]] = {}
_prefixes: dict[str, set[tuple[str, str]]] = {}
_suffixes: dict[str, set[tuple[str, str]]] = {}
_han: list[tuple[str, str]] = []


def _index_word(domain: str, word: str) -> None:
    word, _, language = remove_accents(word).partition("@")
    if _HAN.search(word):
        _han.append((word, domain))
    elif word.startswith("*"):
        _suffixes.setdefault(word[1:], set()).add((domain, language))
    elif word.endswith("*"):
        _prefixes.setdefault(word[:-1], set()).add((domain, language))
    else:
        _exact.setdefault(word, set()).add((domain, language))


for _table in (DOMAIN_WORDS, RELATIVE_WORDS):
    for _domain, _words in _table.items():
        for _word in _words.split():
            _index_word(_domain, _word)
# Longer parts of a word need no look-up, so that a word of 100,000 letters takes no longer than a usual one.
_LONGEST_PART = max(map(len, (*_prefixes, *_suffixes)))
_PHRASES = [(domain, re.compile(pattern, re.IGNORECASE)) for domain, pattern in DOMAIN_PHRASES]


@lru_cache(maxsize=_CACHE_SIZE)
def detect_domains(text: str) -> frozenset[str]:
    """Return the names of the domains and relatives that a text's words belong to."""
    found: set[tuple[str, str]] = set()
    for word in tokenize(text.casefold()):
        if not word[0].isdigit():
            found |= _look_up_word(word.removesuffix("'s").removesuffix("’s"))
    names = {domain for domain, language in found if not language}
    if of_one_language := {(domain, language) for domain, language in found if language}:
        text_language = detect_language(text)
        names |= {domain for domain, language in of_one_language if language == text_language}
    if _HAN.search(text):
        names |= {domain for word, domain in _han if word in text}
    return frozenset(names)


def detect_asked_domains(message: str) -> frozenset[str]:
    """Return the domains of a message by its words and by phrases such as "around here" or "my age"."""
    return detect_domains(message).union(domain for domain, pattern in _PHRASES if pattern.search(message))


@lru_cache(maxsize=_CACHE_SIZE)
def _look_up_word(word: str) -> frozenset[tuple[str, str]]:
    """Return pairs of domain and language ("" for all) of a word, with and without an elided article."""
    found: set[tuple[str, str]] = set()
    word = remove_accents(word)
    # "l'hôpital" is looked up as "hôpital" too.
    for part in {word, re.split(r"['’]", word)[-1]}:
        found |= _exact.get(part, set())
        for end in range(_SHORTEST_PREFIX, min(len(part), _LONGEST_PART) + 1):
            found |= _prefixes.get(part[:end], set())
            found |= _suffixes.get(part[-end:], set())
    return frozenset(found)


def clear_domain_caches() -> None:
    """Empty the caches of this module, so that no text of a deleted fact stays in this process."""
    detect_domains.cache_clear()
    _look_up_word.cache_clear()


@lru_cache(maxsize=256)
def _expand_asked(asked: frozenset[str]) -> tuple[frozenset[str], tuple[tuple[str, frozenset[str]], ...]]:
    """Split asked domains into relatives, with overlapping ones added, and (domain, its kinds) pairs."""
    persons = asked & RELATIVE_WORDS.keys()
    relatives = frozenset(persons).union(*(OVERLAPPING_RELATIVES.get(p, frozenset()) for p in persons))
    domains = sorted(asked - RELATIVE_WORDS.keys())
    return relatives, tuple((domain, frozenset(KINDS_BY_DOMAIN.get(domain, ()))) for domain in domains)


def score_domain_match(asked: frozenset[str], kind: str, fact_domains: frozenset[str]) -> float:
    """Return how relevant a fact of this kind and these domains is to a message of the domains `asked`, 0–1.

    1.0 for an asked relative, 0.9 and 0.8 for a fitting kind with and without the domain, 0.7 for the domain
    alone.
    """
    relatives, domains = _expand_asked(asked)
    is_asked_kind = kind in _RELATIVE_KINDS and "relatives" in asked
    if relatives and (not fact_domains.isdisjoint(relatives) or is_asked_kind):
        return 1.0
    best = 0.0
    for domain, kinds in domains:
        if kind in kinds or (kind in _UNSPECIFIC_KINDS and not kinds.isdisjoint(fact_domains)):
            best = max(best, 0.9 if domain in fact_domains else 0.8)
        # For "place" the domain alone is not enough: a fact about a dentist does not tell where the user
        # lives.
        elif domain in fact_domains and domain != "place":
            best = max(best, 0.7)
    return best
