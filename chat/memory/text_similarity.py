"""Compares two sentences: normal form, shared stems, names, numbers, negation, cosine of vectors.

The extraction functions are cached by text; `clear_similarity_caches` empties the caches.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from . import stopwords as lexicon

# Characters of Thai, Japanese, Chinese and Korean. Thai, Japanese and Chinese have no spaces between words,
# and Korean words change their endings, so each of these characters is compared as if it were a word.
SINGLE_CHARACTERS = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
# Such a character, or a word that may contain "'", "-", ".", "+", "#" ("don't", "Node.js", "C++").
_TOKEN = re.compile(rf"[{SINGLE_CHARACTERS}]|[^\W_]+(?:['’\-.+#][^\W_]+)*[+#]*")
_HAN = re.compile(r"[\u3400-\u9fff]")
# Elided words before a vowel in French and Italian: l'utente, j'aime, dell'olio, qu'il.
_ELIDED = re.compile(r"^(?:(?:[cdjlmnst]|qu|dell|nell|all|sull|un)['’])(?=\w{2})", re.I)
# Entries of each cache below. An extraction compares every candidate with the same stored facts.
_CACHE_SIZE = 4096
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


@lru_cache(maxsize=_CACHE_SIZE)
def normalize_text(text: str) -> str:
    """Return the text in NFKC, case folded, without punctuation, with single spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_TOKEN.findall(folded))


def tokenize(text: str) -> list[str]:
    """Return the words as written; each of SINGLE_CHARACTERS is a word, and "n'aime" gives "aime"."""
    words = _TOKEN.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))
    if "'" not in text and "’" not in text:
        return words
    return [_ELIDED.sub("", word) or word for word in words]


def remove_accents(word: str) -> str:
    """Return a word without accents, so that "diabète" equals "diabete". Words of Han characters stay."""
    if word.isascii() or _HAN.search(word):
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


@lru_cache(maxsize=_CACHE_SIZE)
def stem_word(word: str) -> str:
    """Return a rough stem of at most 7 characters, in any language: "migrating" and "migrate" share it."""
    word = word.casefold()
    if len(word) > 4:
        word = re.sub(r"(?:'s|’s|ing|ed|es|s|en|er|e|o|a|i|y)$", "", word)
    return word[:7]


# Stems of the words with which the model phrases facts.
FACT_PHRASING_STEMS = frozenset(stem_word(word) for word in lexicon.FACT_PHRASING_WORDS)


@lru_cache(maxsize=_CACHE_SIZE)
def extract_content_stems(text: str) -> frozenset[str]:
    """Return the stems of all words that are no function words."""
    return frozenset(stem_word(w) for w in tokenize(text) if w.casefold() not in lexicon.FUNCTION_WORDS)


def compute_overlap(a: str, b: str) -> float:
    """Return the Jaccard similarity of the content stems of two texts, 0–1."""
    left, right = extract_content_stems(a), extract_content_stems(b)
    return len(left & right) / len(left | right) if left | right else 0.0


@lru_cache(maxsize=_CACHE_SIZE)
def extract_core_stems(text: str) -> frozenset[str]:
    """Return the content stems without FACT_PHRASING_STEMS, or all of them if nothing else is left.

    "User wants short replies" gives the stems of "short replies".
    """
    return extract_content_stems(text) - FACT_PHRASING_STEMS or extract_content_stems(text)


def contains_stems(whole: frozenset[str], part: frozenset[str]) -> bool:
    """Return whether each stem of `part` is in `whole` or shares its first 4 letters with one ("drums").

    False if `part` is empty.
    """
    heads = {s[:4] for s in whole if len(s) >= 4}
    return bool(part) and all(s in whole or (len(s) >= 4 and s[:4] in heads) for s in part)


@lru_cache(maxsize=_CACHE_SIZE)
def extract_numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text as strings of digits: "two" gives "2", "1,000" gives "1000"."""
    digits = {re.sub(r"[.,](?=\d{3}\b)", "", n) for n in _NUMBER.findall(unicodedata.normalize("NFKC", text))}
    spelled = {
        lexicon.NUMBER_WORDS[w] for w in (t.casefold() for t in tokenize(text)) if w in lexicon.NUMBER_WORDS
    }
    return frozenset(digits | spelled)


def remove_numbers(stems: frozenset[str]) -> frozenset[str]:
    """Return the stems that are neither digits nor number words."""
    spelled = {stem_word(word) for word in lexicon.NUMBER_WORDS}
    return frozenset(s for s in stems if not s[0].isdigit() and s not in spelled)


@lru_cache(maxsize=_CACHE_SIZE)
def extract_names(text: str) -> frozenset[str]:
    """Return the proper nouns, case folded: capitalised words except the first word of the text."""
    found = set()
    opening = True
    for word in tokenize(text):
        bare = word.removesuffix("'s").removesuffix("’s")
        if bare[-1] == "s" and bare[:-1].casefold() in lexicon.MONTHS_AND_DAYS:
            bare = bare[:-1]  # "Wednesdays" equals "Wednesday"
        inner_capital = any(c.isupper() for c in bare[1:])
        if (bare[0].isupper() and not opening) or inner_capital:
            found.add(bare.casefold())
        opening = False
    return frozenset(found - lexicon.FUNCTION_WORDS)


@lru_cache(maxsize=_CACHE_SIZE)
def is_negated(text: str) -> bool:
    """Return whether the text has a word of negation or dislike in any of the languages."""
    folded = text.casefold()
    # Chinese is written without spaces, so a negation is looked for as a character, not as a word.
    return any(map(_is_negation_word, tokenize(text))) or any(
        c in folded for c in lexicon.NEGATION_CHARACTERS_ZH
    )


def _is_negation_word(word: str) -> bool:
    # "mai" is Italian for "never"; "Mai" is German for May.
    folded = word.casefold()
    return (folded in lexicon.NEGATION_WORDS and word != "Mai") or folded.endswith("n't")


def has_same_numbers_names_negation(a: str, b: str) -> bool:
    """Return whether two texts agree in numbers, names and negation, which their vectors hardly reflect."""
    return extract_names(a) == extract_names(b) and has_same_numbers_negation(a, b)


def has_same_numbers_negation(a: str, b: str) -> bool:
    """Return whether two texts agree in numbers and negation, also in two languages."""
    return extract_numbers(a) == extract_numbers(b) and is_negated(a) == is_negated(b)


def is_restatement(new: str, old: str) -> bool:
    """Return whether the sentence `new` adds nothing to `old`, by words, names, numbers and negation."""
    return (
        contains_stems(extract_core_stems(old), extract_core_stems(new))
        and extract_names(new) <= extract_names(old)
        and extract_numbers(new) <= extract_numbers(old)
        and is_negated(new) == is_negated(old)
    )


def compute_cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """Return the cosine of two vectors, 0 when one is a zero vector or their sizes differ."""
    if a.shape != b.shape:
        return 0.0
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.dot(a, b)) / length if length else 0.0


def clear_similarity_caches() -> None:
    """Empty the caches of this module, so that no text of a deleted fact stays in this process."""
    for function in (
        stem_word,
        normalize_text,
        extract_content_stems,
        extract_core_stems,
        extract_numbers,
        extract_names,
        is_negated,
    ):
        function.cache_clear()
