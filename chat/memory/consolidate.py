"""Decides what a candidate does to the stored facts: it is added, or it reinforces, replaces or ends one.

Rules decide where the words are sufficient. `judge` asks the model about the rest; the model's opinion
applies only if the fact it is about has not changed since the model was asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from chat.memory.candidates import FactCandidate
from chat.memory.change_markers import extract_topic_stems, states_change, states_ending
from chat.memory.cosines import get_thresholds
from chat.memory.kinds import KINDS
from chat.memory.language import detect_language
from chat.memory.text_similarity import (
    compute_cosine,
    contains_stems,
    extract_core_stems,
    extract_names,
    extract_numbers,
    has_same_numbers_names_negation,
    has_same_numbers_negation,
    is_negated,
    is_restatement,
    normalize_text,
    remove_numbers,
)
from chat.models import Fact

# "promoted from technician to team lead": group 1 is the former value, "technician".
_FROM_TO = re.compile(
    r"\b(?:promoted|switch\w*|chang\w+|mov\w+|went|convert\w+|retrain\w+|befördert|gewechselt|passée? |"
    r"promue? |"
    r"pas[éóo]\w*|passat[oa]|promoss[oa]|promovid[oa]) (?:from|von|vom|de|du|da|dal|dalla|do) (.+?) "
    r"(?:to|zum|zur|zu|auf|à|au|a|para|al) ",
    re.I,
)
# Kinds whose value is a name or a number, whatever the wording: "is due on 12 April" equals "must be handed
# in by 12 April". `relationship` is not one of them: being engaged and being married to one person differ.
KINDS_WITH_NAMED_VALUE = frozenset({"age", "home", "origin", "employer", "deadline"})
_USER = re.compile(r"\bUser(?:'s)?\b")
_PREFERENCE_KINDS = frozenset({"likes", "dislikes"})


class Action(StrEnum):
    """What to do with a candidate; the model's answers ADD, NOOP, UPDATE, DELETE stand for these in order."""

    ADD = "add"
    REINFORCE = "reinforce"
    SUPERSEDE = "supersede"
    END = "end"


@dataclass(frozen=True, slots=True)
class Decision:
    """The action, the live fact it applies to (None for ADD), and the reason shown in the fact's history.

    `text` is the merged text of both where the candidate completes the fact; else it is empty.
    """

    action: Action
    target: Fact | None
    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Opinion:
    """The model's decision about a fact, which had this `version` when the model was asked.

    `text` is the merged text, as in `Decision`.
    """

    action: Action
    target: UUID
    version: int
    reason: str
    text: str = ""

    def to_decision(self, live: Sequence[Fact]) -> Decision | None:
        """Return the opinion as a decision; None if the fact has changed or is not live any more."""
        for fact in live:
            if (fact.pk, fact.version) == (self.target, self.version):
                return Decision(self.action, fact, self.reason, self.text)
        return None


ADD_DECISION = Decision(Action.ADD, None, "new")


def decide_action(
    candidate: FactCandidate,
    vector: NDArray[np.float32] | None,
    live: Sequence[Fact],
    embedder_name: str,
    opinion: Opinion | None = None,
) -> Decision:
    """Return what a candidate does to the owner's live facts; the answer is ADD if nothing else applies.

    `vector` is the candidate's unit vector (float32), None without an embedder. An `opinion` applies only
    where no rule does. Calls no model: call it inside the transaction that applies the decision.
    """
    ruled = decide_by_rules(candidate, vector, live, embedder_name)
    if ruled is not None:
        return ruled
    return (opinion.to_decision(live) if opinion else None) or ADD_DECISION


def decide_by_rules(
    candidate: FactCandidate, vector: NDArray[np.float32] | None, live: Sequence[Fact], embedder_name: str
) -> Decision | None:
    """Return the decision of the rules, None where no rule applies."""
    repeat = find_repeated_fact(candidate, vector, live, embedder_name)
    if repeat is not None:
        same_words = normalize_text(repeat.text) == normalize_text(candidate.text)
        reason = "said again in the same words" if same_words else "said again in other words"
        return Decision(Action.REINFORCE, repeat, reason)
    for fact in live:
        # "Got divorced" ends a marriage but is a new value of its kind: it supersedes, in the loop below.
        if is_ended(candidate, fact) and not _is_other_value(candidate, fact):
            return Decision(Action.END, fact, "the user said that it is over")
    for fact in live:
        if is_opposite(candidate, fact):
            return Decision(Action.SUPERSEDE, fact, "the opposite was said")
        if _is_other_value(candidate, fact):
            return Decision(Action.SUPERSEDE, fact, f"one {candidate.kind.replace('_', ' ')} at a time")
        if fact.kind == candidate.kind and is_former_value(candidate.quote, fact):
            return Decision(Action.SUPERSEDE, fact, "the user said that this changed")
        if differs_only_in_numbers(candidate, fact) and states_change(candidate.quote):
            return Decision(Action.SUPERSEDE, fact, "another number was said")
    return None


def find_repeated_fact(
    candidate: FactCandidate, vector: NDArray[np.float32] | None, facts: Sequence[Fact], embedder_name: str
) -> Fact | None:
    """Return the fact that a candidate repeats, in the same or in other words; None if it repeats none."""
    equal = normalize_text(candidate.text)
    for fact in facts:
        if normalize_text(fact.text) == equal:
            return fact
    for fact in facts:
        if fact.category == candidate.category and _repeats(candidate, vector, fact, embedder_name):
            return fact
    return None


def is_ended(candidate: FactCandidate, fact: Fact) -> bool:
    """Return whether a candidate says only that a fact is over: "User no longer learns Dutch"."""
    about, known = extract_topic_stems(candidate.text), extract_topic_stems(fact.text)
    if not about or not states_ending(candidate.text) or states_ending(fact.text) or is_negated(fact.text):
        return False
    return contains_stems(known, about) and extract_numbers(candidate.text) <= extract_numbers(fact.text)


def is_opposite(candidate: FactCandidate, fact: Fact) -> bool:
    """Return whether one of the two denies the other: likes and dislikes of one thing, or a negation."""
    kinds = {candidate.kind, fact.kind}
    denied = is_negated(candidate.text) != is_negated(fact.text) and len(kinds) == 1
    return (kinds == _PREFERENCE_KINDS or denied) and _has_same_topic(candidate.text, fact.text)


def differs_only_in_numbers(candidate: FactCandidate, fact: Fact) -> bool:
    """Return whether the two differ in their numbers and in nothing else: 5 km and 10 km every morning."""
    mine, theirs = extract_numbers(candidate.text), extract_numbers(fact.text)
    if not mine or not theirs or mine == theirs or candidate.category != fact.category:
        return False
    return _has_same_topic(candidate.text, fact.text)


def is_former_value(said: str, fact: Fact) -> bool:
    """Return whether a sentence names the fact as the former value: "promoted from technician to lead"."""
    found = _FROM_TO.search(said)
    return found is not None and contains_stems(extract_core_stems(found[1]), extract_topic_stems(fact.text))


def _has_same_topic(a: str, b: str) -> bool:
    """Return whether two sentences are about the same thing, apart from numbers, negation and endings."""
    one, other = remove_numbers(extract_topic_stems(a)), remove_numbers(extract_topic_stems(b))
    return contains_stems(one, other) and contains_stems(other, one)


def _is_other_value(candidate: FactCandidate, fact: Fact) -> bool:
    """Return whether both are values of one kind and subject that can have only one value at a time."""
    same_place = fact.kind == candidate.kind and fact.subject == candidate.subject
    return KINDS[candidate.kind].single and same_place


def _is_same_value(candidate: FactCandidate, fact: Fact) -> bool:
    if (
        candidate.kind not in KINDS_WITH_NAMED_VALUE
        or fact.kind != candidate.kind
        or fact.subject != candidate.subject
    ):
        return False
    value = extract_names(candidate.text) | extract_numbers(candidate.text)
    return bool(value) and has_same_numbers_names_negation(candidate.text, fact.text)


def compute_similarity(vector: NDArray[np.float32] | None, fact: Fact, embedder_name: str) -> float | None:
    """Return the cosine with a stored fact; None if its vector is missing or made by another embedder."""
    if vector is None or not fact.embedding or fact.embedder != embedder_name:
        return None
    return compute_cosine(vector, np.frombuffer(bytes(fact.embedding), dtype=np.float32))


def _are_in_two_languages(a: str, b: str) -> bool:
    # "User" begins facts of all languages.
    languages = {detect_language(_USER.sub("", text)) for text in (a, b)}
    return len(languages) > 1 and not extract_core_stems(a) & extract_core_stems(b)


def _repeats(
    candidate: FactCandidate, vector: NDArray[np.float32] | None, fact: Fact, embedder_name: str
) -> bool:
    if states_ending(candidate.text) != states_ending(fact.text):
        return False
    if fact.kind == candidate.kind and is_restatement(candidate.text, fact.text):
        return True
    if _is_same_value(candidate, fact):
        return True
    close = compute_similarity(vector, fact, embedder_name)
    if close is None:
        return False
    thresholds = get_thresholds(embedder_name)
    if _are_in_two_languages(candidate.text, fact.text):
        # Names differ too ("Copenhague"), and German capitalises all nouns.
        return close >= thresholds.same_translated and has_same_numbers_negation(candidate.text, fact.text)
    if not has_same_numbers_names_negation(candidate.text, fact.text):
        return False
    if close >= thresholds.same:
        return True
    within = contains_stems(extract_core_stems(candidate.text), extract_core_stems(fact.text))
    return within and close >= thresholds.same_contained
