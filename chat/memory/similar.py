"""When two sentences say the same: normal form, shared words, names, numbers, negation, vectors."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from chat.memory import words as lexicon

_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_]+(?:['’\-.+#][^\W_]+)*[+#]*")
# French and Italian put a short word before a vowel: l'utente, j'aime, dell'olio, qu'il.
_ELIDED = re.compile(r"^(?:(?:[cdjlmnst]|qu|dell|nell|all|sull|un)['’])(?=\w{2})", re.I)
# A look compares its candidates with the same facts over and over.
_REMEMBERED = 4096
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


@lru_cache(maxsize=_REMEMBERED)
def normalise(text: str) -> str:
    """Return the form in which equal facts are equal: NFKC, case folded, no punctuation, single spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_TOKEN.findall(folded))


def tokens(text: str) -> list[str]:
    """Return the words as written; a Chinese character counts as a word, "n'aime" as the word "aime"."""
    words = _TOKEN.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))
    if "'" not in text and "’" not in text:
        return words
    return [_ELIDED.sub("", word) or word for word in words]


@lru_cache(maxsize=_REMEMBERED)
def stem(word: str) -> str:
    """Return a rough common form of a word in any of our languages: "migrating" and "migrate" meet."""
    word = word.casefold()
    if len(word) > 4:
        word = re.sub(r"(?:'s|’s|ing|ed|es|s|en|er|e|o|a|i|y)$", "", word)
    return word[:7]


# The verbs of the house style, which say little by themselves.
SCAFFOLD_STEMS = frozenset(stem(word) for word in lexicon.SCAFFOLD)


@lru_cache(maxsize=_REMEMBERED)
def content(text: str) -> frozenset[str]:
    """Return the stems of the words that carry the meaning."""
    return frozenset(stem(w) for w in tokens(text) if w.casefold() not in lexicon.FUNCTION)


def overlap(a: str, b: str) -> float:
    """Return how much of the meaning-bearing words the two share, 0–1 (Jaccard)."""
    left, right = content(a), content(b)
    return len(left & right) / len(left | right) if left | right else 0.0


@lru_cache(maxsize=_REMEMBERED)
def core(text: str) -> frozenset[str]:
    """Return the content without the verbs of the house style: "wants short replies" is "short replies"."""
    return content(text) - SCAFFOLD_STEMS or content(text)


def contains(whole: frozenset[str], part: frozenset[str]) -> bool:
    """Tell whether every stem of `part` is in `whole`, or begins as one there does ("drums", "drummer")."""
    heads = {s[:4] for s in whole if len(s) >= 4}
    return bool(part) and all(s in whole or (len(s) >= 4 and s[:4] in heads) for s in part)


@lru_cache(maxsize=_REMEMBERED)
def numbers(text: str) -> frozenset[str]:
    """Return the numbers in digits, however written, without separators or ordinal endings."""
    digits = {re.sub(r"[.,](?=\d{3}\b)", "", n) for n in _NUMBER.findall(unicodedata.normalize("NFKC", text))}
    spelled = {lexicon.NUMBERS[w] for w in (t.casefold() for t in tokens(text)) if w in lexicon.NUMBERS}
    return frozenset(digits | spelled)


def without_numbers(stems: frozenset[str]) -> frozenset[str]:
    """Return the stems that are no numbers, in digits or in words."""
    spelled = {stem(word) for word in lexicon.NUMBERS}
    return frozenset(s for s in stems if not s[0].isdigit() and s not in spelled)


@lru_cache(maxsize=_REMEMBERED)
def names(text: str) -> frozenset[str]:
    """Return the proper nouns, case folded: capitalised words that do not merely open the sentence."""
    found = set()
    opening = True
    for word in tokens(text):
        bare = word.removesuffix("'s").removesuffix("’s")
        if bare[-1] == "s" and bare[:-1].casefold() in lexicon.MONTHS_AND_DAYS:
            bare = bare[:-1]  # on Wednesdays, every Wednesday
        inner_capital = any(c.isupper() for c in bare[1:])
        if (bare[0].isupper() and not opening) or inner_capital:
            found.add(bare.casefold())
        opening = False
    return frozenset(found - lexicon.FUNCTION)


@lru_cache(maxsize=_REMEMBERED)
def negated(text: str) -> bool:
    """Tell whether the sentence denies something, in any of our languages."""
    folded = text.casefold()
    # A Chinese word has no spaces around it, so its negations are looked for as characters.
    return any(map(_denies, tokens(text))) or any(c in folded for c in lexicon.NEGATION_ZH)


def _denies(word: str) -> bool:
    # The Italian "mai" denies; the German May is written with a capital.
    folded = word.casefold()
    return (folded in lexicon.NEGATION and word != "Mai") or folded.endswith("n't")


def same_numbers_names_negation(a: str, b: str) -> bool:
    """Tell whether nothing that a vector is blind to sets the two apart."""
    return numbers(a) == numbers(b) and names(a) == names(b) and negated(a) == negated(b)


def says_the_same(new: str, old: str) -> bool:
    """Tell whether the new sentence says nothing that the old one does not, judged by its words."""
    return (
        contains(core(old), core(new))
        and names(new) <= names(old)
        and numbers(new) <= numbers(old)
        and negated(new) == negated(old)
    )


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """Return the cosine of two vectors, 0 when one of them is null or their sizes differ."""
    if a.shape != b.shape:
        return 0.0
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.dot(a, b)) / length if length else 0.0


def forget_similar() -> None:
    """Drop what is remembered of texts, so that no word of a forgotten fact stays in this process."""
    for function in (stem, normalise, content, core, numbers, names, negated):
        function.cache_clear()
