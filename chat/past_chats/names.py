"""Finds names in a message that are not generally known: of friends, pets, places. Pure functions.

Only past conversations can tell who or what they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from chat.memory.sentences import ABBREVIATIONS

from .stems import find_language

_WORD = re.compile(r"[^\W\d_]+")
# After these a sentence begins, so a capital letter does not show that a word is a name.
_SENTENCE_BEGINS = re.compile(r"(?:^|[.!?:;\n“\"«¿¡(*-]|(?<!\w)')[\s“\"'«¿¡(*-]*$")
# In German all nouns have a capital letter.
_CAPITAL_NOUNS = frozenset({"de"})
_LEAST_LETTERS = 3
# How far back the beginning of a sentence is looked for, in characters.
_LOOK_BACK = 8


def find_names(text: str, knows_word: Callable[[str], bool]) -> set[str]:
    """Return the capitalised words of a message for which `knows_word` returns false, in lower case.

    `knows_word` tells whether a vocabulary of common words and famous names has a word. There are no names in
    languages without capital letters, and none in German.
    """
    found = set()
    for match in _WORD.finditer(text):
        word = match[0]
        if len(word) < _LEAST_LETTERS or not word[0].isupper() or not word[1:].islower():
            continue
        before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
        begins = _SENTENCE_BEGINS.search(before) and not before.rstrip().endswith(ABBREVIATIONS)
        if not begins and not knows_word(word):
            found.add(word.casefold())
    return found if found and find_language(text) not in _CAPITAL_NOUNS else set()


def mentions_any(text: str, names: Collection[str]) -> bool:
    """Return whether a text contains one of these names as a whole word, in any case."""
    return any(word.casefold() in names for word in _WORD.findall(text))
