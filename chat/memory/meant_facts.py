"""Finds the stored facts that a request means, by the words of both and by meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from chat.memory.clauses import split_clauses
from chat.memory.consolidate import compute_similarity
from chat.memory.cosines import get_thresholds
from chat.memory.language import detect_language
from chat.memory.memory_requests import is_negated_by_words
from chat.memory.normalize import normalize_sentence
from chat.memory.text_similarity import (
    contains_stems,
    extract_content_stems,
    extract_core_stems,
    extract_names,
    extract_numbers,
    tokenize,
)
from chat.models import Fact

# More facts than these are not forgotten at one request: too many of them would be meant by accident.
MOST = 3

Embed = Callable[[str], NDArray[np.float32] | None]


def find_facts_to_forget(about: str, facts: Sequence[Fact], embedder_name: str, embed: Embed) -> list[Fact]:
    """Return the facts that the user asks to forget; [] if it is not clear which, or if more than MOST are.

    They contain all words of `about`; where none does, the nearest fact by meaning is meant, if no other is
    near. `embed` returns the unit vector (float32) of a text, None without an embedder.
    """
    said = normalize_sentence(about, about)
    stems = extract_core_stems(said)
    named = [fact for fact in facts if contains_stems(extract_content_stems(fact.text), stems)]
    if named or not facts:
        return named if len(named) <= MOST else []
    vector = embed(said)
    scores = [compute_similarity(vector, fact, embedder_name) or 0.0 for fact in facts]
    best, second = sorted([*scores, 0.0], reverse=True)[:2]
    thresholds = get_thresholds(embedder_name)
    is_clear = best >= thresholds.meant and best - second >= thresholds.meant_margin
    return [facts[scores.index(best)]] if is_clear else []


def names_only_a_kind(about: str) -> bool:
    """Return whether a request names a kind of fact ("my age", "where I live") and no value of it."""
    # German nouns are capitalised, so that "mein Alter" seems to have a name.
    names = frozenset() if detect_language(about) == "de" else extract_names(about)
    return not names and not extract_numbers(about)


def find_denied_facts(sentence: str, facts: Sequence[Fact], *, said_wrong: bool) -> list[Fact]:
    """Return the facts that a sentence says are not true ("I never lived in Oslo").

    A negated clause denies a fact if it has no further content: "I don't drink coffee after noon" denies
    nothing. Unless the user said before that something is wrong (`said_wrong`), the clause must also name the
    fact's names and numbers, at least one.
    """
    denied = []
    whole = extract_core_stems(sentence)
    for clause in split_clauses(sentence):
        if not is_negated_by_words(clause):
            continue
        affirmed = " ".join(word for word in tokenize(clause) if not is_negated_by_words(word))
        stems = extract_core_stems(normalize_sentence(affirmed, affirmed))
        for fact in facts:
            known = extract_content_stems(fact.text)
            if not contains_stems(known, stems) or is_negated_by_words(fact.text):
                continue
            shares_most = 2 * len(known & (whole | stems)) >= len(extract_core_stems(fact.text))
            if shares_most and (said_wrong or _is_named(fact, clause)) and fact not in denied:
                denied.append(fact)
    return denied


def restates_denied(text: str, denied: Sequence[Fact]) -> bool:
    """Return whether a candidate only says that a denied fact is not true."""
    return is_negated_by_words(text) and any(
        contains_stems(extract_content_stems(fact.text), extract_core_stems(text)) for fact in denied
    )


def _is_named(fact: Fact, clause: str) -> bool:
    names = extract_names(fact.text) | extract_numbers(fact.text)
    words = {word.casefold() for word in tokenize(clause)}
    return bool(names) and names <= words
