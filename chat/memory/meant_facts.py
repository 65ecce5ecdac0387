"""Finds the stored facts that a request means, by the words of both and by meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chat.memory.consolidate import compute_similarity
from chat.memory.cosines import get_thresholds
from chat.memory.language import detect_language
from chat.memory.memory_requests import is_negated_by_words
from chat.memory.normalize import normalize_sentence
from chat.memory.sentences import split_clauses
from chat.memory.text_similarity import (
    contains_stems,
    extract_content_stems,
    extract_core_stems,
    extract_names,
    extract_numbers,
    tokenize,
)
from chat.models import Fact

# More facts than these are not forgotten without a question: too many of them would be meant by accident.
MOST = 3
# How many facts are offered when it is unclear which one is meant.
_MAX_CANDIDATES = 5

Embed = Callable[[str], NDArray[np.float32] | None]


@dataclass(frozen=True, slots=True)
class MeantFacts:
    """What a request to forget means: `facts`, or `candidates` of which the owner has to choose.

    With `many`, all candidates are meant by its words; they are more than are forgotten without a question.
    """

    facts: list[Fact] = field(default_factory=list)
    candidates: list[Fact] = field(default_factory=list)
    many: bool = False


def find_facts_to_forget(about: str, facts: Sequence[Fact], embedder_name: str, embed: Embed) -> MeantFacts:
    """Return the facts that the user asks to forget, or those of which it is not clear which is meant.

    They contain all words of `about`; where none does, the nearest fact by meaning is meant, if no other is
    near. `embed` returns the unit vector (float32) of a text, None without an embedder.
    """
    said = normalize_sentence(about, about)
    stems = extract_core_stems(said)
    named = [fact for fact in facts if contains_stems(extract_content_stems(fact.text), stems)]
    if len(named) > MOST:
        return MeantFacts(candidates=named, many=True)
    if named or not facts:
        return MeantFacts(facts=named)
    pieces = dict.fromkeys([said, *split_clauses(said)])
    vectors = [embed(piece) for piece in pieces]
    scores = [
        max(compute_similarity(vector, fact, embedder_name) or 0.0 for vector in vectors) for fact in facts
    ]
    best, second = sorted([*scores, 0.0], reverse=True)[:2]
    thresholds = get_thresholds(embedder_name)
    if best >= thresholds.meant and best - second >= thresholds.meant_margin:
        return MeantFacts(facts=[facts[scores.index(best)]])
    shared = [fact for fact in facts if not stems.isdisjoint(extract_content_stems(fact.text))]
    if shared == [facts[scores.index(best)]] and best >= thresholds.meant - thresholds.meant_margin:
        return MeantFacts(facts=shared)
    return MeantFacts(
        candidates=_find_candidates(stems, facts, scores, thresholds.meant - thresholds.meant_margin)
    )


def _find_candidates(
    stems: frozenset[str], facts: Sequence[Fact], scores: Sequence[float], least: float
) -> list[Fact]:
    """Return the facts that share a word with a request or have at least that cosine, the nearest first."""
    shared = [
        any(contains_stems(extract_content_stems(f.text), frozenset({s})) for s in stems) for f in facts
    ]
    order = sorted(range(len(facts)), key=lambda i: (-shared[i], -scores[i]))
    near = [i for i in order if shared[i] or scores[i] >= least]
    return [facts[i] for i in near[:_MAX_CANDIDATES]]


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
        affirmed = _remove_negation(clause)
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
    stems = extract_core_stems(_remove_negation(text))
    return is_negated_by_words(text) and any(
        contains_stems(extract_content_stems(fact.text), stems) for fact in denied
    )


def _remove_negation(clause: str) -> str:
    return " ".join(word for word in tokenize(clause) if not is_negated_by_words(word))


def _is_named(fact: Fact, clause: str) -> bool:
    names = extract_names(fact.text) | extract_numbers(fact.text)
    words = {word.casefold() for word in tokenize(clause)}
    return bool(names) and names <= words
