"""Asks the model what a new fact does to the nearest known ones, among the choices that words allow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chat.llm.types import FormNotKept, Lane, Provider, StopFlag
from chat.memory import judge_prompt
from chat.memory.changes import adds, changes, ends, matter
from chat.memory.consolidate import (
    Action,
    Opinion,
    by_rules,
    is_other_number,
    similarity,
)
from chat.memory.extract import Candidate
from chat.memory.kind_rules import first_rule
from chat.memory.similar import contains, names, negated, numbers
from chat.models import Fact

SLOT = "consolidate"
UNDECIDED = "The model did not say how a new memory stands to those known; it was stored beside them."
_MAX_TOKENS = 12
# Design §5 asks about ten; each costs some 15 tokens to read. Whether more would be decided better was not
# measured.
_NEAREST = 5
# Cosine from which a fact of the same category may be about the same thing, where no word is shared: between
# a contradiction (0.49) and a paraphrase (0.77) as design §5 gives them for MiniLM.
_NEAR = {"minilm-l6-int8": 0.55}
_UNMEASURED = 0.7
# Cosine from which the model may call a fact known although it has words that the known one lacks: MiniLM
# gives a paraphrase 0.77 (design §5).
_ALIKE = {"minilm-l6-int8": 0.7}
_UNMEASURED_ALIKE = 0.85
# A new value of these takes the old one's place when the user says that something changed, whatever words
# the two share: a barber who is a florist now.
_ONE_PLACE = frozenset({"job", "reply_style"})
# These do not end by being dropped, sold or finished: who finished a coffee still likes coffee.
_LASTING = frozenset({"likes", "dislikes", "name", "age", "origin", "language", "reply_language", "units"})

_ANSWER = re.compile(r"^(?:(ADD)|(NOOP|UPDATE|DELETE) (\d+))$")
_ACTIONS = {"NOOP": Action.REINFORCE, "UPDATE": Action.SUPERSEDE, "DELETE": Action.END}
_REASONS = {
    "NOOP": "said again in other words",
    "UPDATE": "replaced by what was said later",
    "DELETE": "the user said that it is over",
}


@dataclass(slots=True)
class Verdict:
    """What the model thinks: an opinion, or none where it would add or was not asked."""

    opinion: Opinion | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class _Question:
    """One question to the model: what was said, what was noted of it, and the facts it may concern."""

    said: str
    note: str
    near: Sequence[Fact]
    # What words allow, each with the number of its fact; what they forbid the model is not offered.
    allowed: dict[str, int]


def consider(
    provider: Provider,
    candidate: Candidate,
    vector: NDArray[np.float32] | None,
    live: Sequence[Fact],
    embedder_name: str,
    stop: StopFlag | None = None,
    *,
    lane: Lane = Lane.BACKGROUND,
) -> Verdict:
    """Return what the model makes of a candidate that the rules do not decide.

    Blocks while the model answers: call it from a worker thread, outside any transaction.
    Lets `ProviderError` through.
    """
    if by_rules(candidate, vector, live, embedder_name) is not None:
        return Verdict()
    if adds(candidate.quote):
        return Verdict()
    near = _nearest(candidate, vector, live, embedder_name)
    alike = _ALIKE.get(embedder_name, _UNMEASURED_ALIKE)
    allowed: dict[str, int] = {}
    for number, fact in enumerate(near, 1):
        verbs = _verbs_of_ending(candidate.quote, fact)
        if _may_replace(candidate.quote, candidate, fact):
            verbs.append("UPDATE")
        if _may_repeat(candidate, fact, similarity(vector, fact, embedder_name) or 0.0, alike):
            verbs.append("NOOP")
        allowed |= {f"{verb} {number}": number for verb in verbs}
    return _ask(provider, _Question(candidate.quote, candidate.text, near, allowed), stop, lane)


def consider_ending(
    provider: Provider,
    sentence: str,
    live: Sequence[Fact],
    spared: Sequence[Candidate],
    stop: StopFlag | None = None,
    *,
    lane: Lane = Lane.BACKGROUND,
) -> Verdict:
    """Return which fact a sentence that ends something ends; what the message says besides is `spared`."""
    about = matter(sentence)
    still = [matter(candidate.text) for candidate in spared]
    touched = [
        (len(shared) / len(matter(fact.text)), fact)
        for fact in _of_the_same_person(first_rule(sentence) == "family", live)
        if (shared := about & matter(fact.text)) and not any(contains(s, matter(fact.text)) for s in still)
    ]
    near = [fact for _, fact in sorted(touched, key=lambda t: -t[0])[:_NEAREST]]
    allowed = {
        f"{verb} {n}": n for n, fact in enumerate(near, 1) for verb in _verbs_of_ending(sentence, fact)
    }
    return _ask(provider, _Question(sentence, "", near, allowed), stop, lane)


def _nearest(
    candidate: Candidate, vector: NDArray[np.float32] | None, live: Sequence[Fact], embedder_name: str
) -> list[Fact]:
    """Return the facts that may be about the same thing, the nearest first.

    Whatever their category: a sailing boat among the projects is sold by a sentence among the events.
    """
    about = matter(candidate.text) | matter(candidate.quote)
    scored = []
    for fact in _of_the_same_person(candidate.kind == "family", live):
        known = matter(fact.text)
        shared = len(about & known) / len(known) if known else 0.0
        close = similarity(vector, fact, embedder_name) or 0.0
        same_shelf = fact.category == candidate.category
        if shared or (same_shelf and close >= _NEAR.get(embedder_name, _UNMEASURED)):
            scored.append((max(shared, close), fact))
        elif fact.kind == candidate.kind and fact.kind in _ONE_PLACE:
            scored.append((close, fact))
    return [fact for _, fact in sorted(scored, key=lambda s: -s[0])[:_NEAREST]]


def _of_the_same_person(relative: bool, live: Sequence[Fact]) -> list[Fact]:
    """Return the facts that news of a relative may concern, all where it is news of the user."""
    return [fact for fact in live if not relative or fact.kind in ("family", "relationship")]


def _verbs_of_ending(said: str, fact: Fact) -> list[str]:
    over = ends(said) and not ends(fact.text) and bool(matter(said) & matter(fact.text))
    return ["DELETE"] if over and fact.kind not in _LASTING else []


def _may_replace(said: str, candidate: Candidate, fact: Fact) -> bool:
    about, known = matter(candidate.text), matter(fact.text)
    if is_other_number(candidate, fact):
        return True
    if not changes(said):
        # Nothing says that anything changed: only a sentence that keeps all of the old one may replace it.
        return contains(about, known) and names(fact.text) <= names(candidate.text)
    named = bool((about | matter(said)) & known)
    return named or (fact.kind == candidate.kind and fact.kind in _ONE_PLACE)


def _may_repeat(candidate: Candidate, fact: Fact, close: float, alike: float) -> bool:
    # "Allergic to shellfish" shares a word with "allergic to nuts": to call that known would lose it.
    says_nothing_new = contains(matter(fact.text), matter(candidate.text))
    return (
        (says_nothing_new or close >= alike)
        and numbers(candidate.text) <= numbers(fact.text)
        and names(candidate.text) <= names(fact.text)
        and negated(candidate.text) == negated(fact.text)
        and ends(candidate.text) == ends(fact.text)
    )


def _ask(provider: Provider, question: _Question, stop: StopFlag | None, lane: Lane) -> Verdict:
    verdict = Verdict()
    if not question.allowed:
        return verdict
    choices = " | ".join(f'"{choice}"' for choice in ("ADD", *question.allowed))
    for _ in range(2):
        try:
            completion = provider.complete(
                judge_prompt.turns([f.text for f in question.near], question.said, question.note),
                slot=SLOT,
                lane=lane,
                max_tokens=_MAX_TOKENS,
                grammar=f"root ::= {choices}",
                stop=stop,
            )
        except FormNotKept:
            # The provider has asked twice itself.
            break
        answer = completion.text.strip()
        match = _ANSWER.match(answer)
        if match and (match[1] or answer in question.allowed):
            if not match[1]:
                fact = question.near[question.allowed[answer] - 1]
                verdict.opinion = Opinion(_ACTIONS[match[2]], fact.pk, fact.version, _REASONS[match[2]])
            return verdict
    verdict.failure = UNDECIDED
    return verdict
