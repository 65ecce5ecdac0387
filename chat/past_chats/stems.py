"""The words of a message by which past conversations are searched, reduced to their stems. Pure functions."""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from chat.memory.language import NAMES, detect_language
from chat.memory.stopwords import FUNCTION_WORDS
from chat.memory.text_similarity import tokenize

if TYPE_CHECKING:
    from snowballstemmer.basestemmer import BaseStemmer

_CACHED_WORDS = 50_000
# Of Chinese, Japanese and Thai, which are written without blanks, pairs of characters are searched.
_UNSPACED = ("\u0e00", "\u0e7f"), ("\u3040", "\u30ff"), ("\u3400", "\u9fff")


def is_unspaced(word: str) -> bool:
    """Return whether a word begins with a character of a script without blanks between words."""
    return any(first <= word[0] <= last for first, last in _UNSPACED)


def extract_stems(text: str, language: str) -> dict[str, str]:
    """Return the stems of a text's words without function words, in order, each with its beginning.

    The beginning is what word and stem share, so that most other forms of the word begin with it: "deciding"
    has the stem "decid". Pairs of characters of a script without blanks are stems too.
    """
    found: dict[str, str] = {}
    unspaced = ""
    for word in (*tokenize(text), ""):
        if word and is_unspaced(word):
            unspaced += word
            continue
        found.update((a + b, a + b) for a, b in pairwise(unspaced))
        unspaced = ""
        folded = word.casefold()
        if len(folded) < 2 or folded in FUNCTION_WORDS:
            continue
        stem = stem_in_language(folded, language)
        beginning = _find_common_beginning(stem, folded)
        found[stem] = min(beginning, found.get(stem, beginning), key=len)
    return found


def _find_common_beginning(stem: str, word: str) -> str:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(stem, word, strict=False))
    return "".join(letter for letter, _ in same) or word


def find_language(text: str) -> str:
    """Return the code of the language by whose rules a text's words are stemmed; English if it is unclear."""
    return detect_language(text) or "en"


@lru_cache(maxsize=_CACHED_WORDS)
def stem_in_language(word: str, language: str) -> str:
    """Return the stem of a word in lower case by the Snowball rules of a language; the word without rules."""
    stemmer = _load_stemmer(language)
    return stemmer.stemWord(word) if stemmer else word


@cache
def _load_stemmer(language: str) -> BaseStemmer | None:
    import snowballstemmer

    name = NAMES[language].lower()
    return snowballstemmer.stemmer(name) if name in snowballstemmer.algorithms() else None
