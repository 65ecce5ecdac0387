"""What a new fact does to those known: stands beside them, repeats, replaces or ends one (design §5).

Rules decide what words alone make sure; the model is asked about the rest (`judge`), and its opinion counts
only while the fact that it was formed about is still what it was.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from chat.memory.changes import changes, ends, matter
from chat.memory.extract import Candidate
from chat.memory.kinds import KINDS
from chat.memory.similar import (
    contains,
    core,
    cosine,
    names,
    negated,
    normalise,
    numbers,
    same_numbers_names_negation,
    says_the_same,
    without_numbers,
)
from chat.models import Fact

# Cosine from which two facts say the same, per embedder. Measured with MiniLM on pairs of our own:
# "likes jazz" / "enjoys jazz music" 0.90, but "vegetarian" / "vegan" 0.89, "drinks tea" / "drinks coffee"
# 0.83.
SAME = {"minilm-l6-int8": 0.90}
# The same when all the words of one are in the other: "is a nurse" / "is a nurse in a hospital" 0.88.
SAME_AND_WITHIN = {"minilm-l6-int8": 0.80}
_UNMEASURED = 0.95  # an embedder that nobody measured has to be surer

_FROM_TO = re.compile(
    r"\b(?:promoted|switch\w*|chang\w+|mov\w+|went|convert\w+|retrain\w+|befördert|gewechselt|passée? |"
    r"promue? |"
    r"pas[éóo]\w*|passat[oa]|promoss[oa]|promovid[oa]) (?:from|von|vom|de|du|da|dal|dalla|do) (.+?) "
    r"(?:to|zum|zur|zu|auf|à|au|a|para|al) ",
    re.I,
)
# The value of these is a name or a number, however the sentence around it is put: "is due on 12 April",
# "must be handed in by 12 April". A marriage and an engagement to one person are two values.
_NAMED_VALUE = frozenset({"age", "home", "origin", "employer", "deadline"})
_TASTES = frozenset({"likes", "dislikes"})


class Action(StrEnum):
    """What to do with a candidate (the seeds' ADD, NOOP, UPDATE and DELETE)."""

    ADD = "add"
    REINFORCE = "reinforce"
    SUPERSEDE = "supersede"
    END = "end"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, to which live fact, and why in plain words for the history."""

    action: Action
    target: Fact | None
    reason: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """What the model would do to a fact, as that fact was when the model was asked."""

    action: Action
    target: UUID
    version: int
    reason: str

    def holds(self, live: Sequence[Fact]) -> Decision | None:
        """Return the opinion as a decision, or None when the fact has changed or gone meanwhile."""
        for fact in live:
            if (fact.pk, fact.version) == (self.target, self.version):
                return Decision(self.action, fact, self.reason)
        return None


NEW = Decision(Action.ADD, None, "new")


def decide(
    candidate: Candidate,
    vector: NDArray[np.float32] | None,
    live: Sequence[Fact],
    embedder_name: str,
    opinion: Opinion | None = None,
) -> Decision:
    """Return what a candidate does to the owner's live facts; `vector` is None where there is no embedder.

    No model call: run it inside the transaction that applies it. Without a rule and without an opinion that
    still holds the answer is ADD.
    """
    ruled = by_rules(candidate, vector, live, embedder_name)
    if ruled is not None:
        return ruled
    return (opinion.holds(live) if opinion else None) or NEW


def by_rules(
    candidate: Candidate, vector: NDArray[np.float32] | None, live: Sequence[Fact], embedder_name: str
) -> Decision | None:
    """Return what words alone decide, None where they do not."""
    repeat = repeated(candidate, vector, live, embedder_name)
    if repeat is not None:
        same_words = normalise(repeat.text) == normalise(candidate.text)
        reason = "said again in the same words" if same_words else "said again in other words"
        return Decision(Action.REINFORCE, repeat, reason)
    for fact in live:
        # "Got divorced" ends a marriage, and is itself what holds now.
        if is_ended(candidate, fact) and not _is_other_value(candidate, fact):
            return Decision(Action.END, fact, "the user said that it is over")
    for fact in live:
        if is_opposite(candidate, fact):
            return Decision(Action.SUPERSEDE, fact, "the opposite was said")
        if _is_other_value(candidate, fact):
            return Decision(Action.SUPERSEDE, fact, f"one {candidate.kind.replace('_', ' ')} at a time")
        if fact.kind == candidate.kind and was_left(candidate.quote, fact):
            return Decision(Action.SUPERSEDE, fact, "the user said that this changed")
        if is_other_number(candidate, fact) and changes(candidate.quote):
            return Decision(Action.SUPERSEDE, fact, "another number was said")
    return None


def repeated(
    candidate: Candidate, vector: NDArray[np.float32] | None, facts: Sequence[Fact], embedder_name: str
) -> Fact | None:
    """Return the fact that a candidate says again, in the same words or in others."""
    equal = normalise(candidate.text)
    for fact in facts:
        if normalise(fact.text) == equal:
            return fact
    for fact in facts:
        if fact.category == candidate.category and _repeats(candidate, vector, fact, embedder_name):
            return fact
    return None


def is_ended(candidate: Candidate, fact: Fact) -> bool:
    """Tell whether a candidate says only that a fact is over: "User no longer learns Dutch"."""
    about, known = matter(candidate.text), matter(fact.text)
    if not about or not ends(candidate.text) or ends(fact.text) or negated(fact.text):
        return False
    return contains(known, about) and numbers(candidate.text) <= numbers(fact.text)


def is_opposite(candidate: Candidate, fact: Fact) -> bool:
    """Tell whether one denies what the other says of the same thing."""
    kinds = {candidate.kind, fact.kind}
    denied = negated(candidate.text) != negated(fact.text) and len(kinds) == 1
    return (kinds == _TASTES or denied) and _same_matter(candidate.text, fact.text)


def is_other_number(candidate: Candidate, fact: Fact) -> bool:
    """Tell whether the two differ in their numbers and in nothing else: 5 km and 10 km every morning."""
    mine, theirs = numbers(candidate.text), numbers(fact.text)
    if not mine or not theirs or mine == theirs or candidate.category != fact.category:
        return False
    return _same_matter(candidate.text, fact.text)


def was_left(said: str, fact: Fact) -> bool:
    """Tell whether the words name a fact as what was left: "promoted from technician to team lead"."""
    left = _FROM_TO.search(said)
    return left is not None and contains(core(left[1]), matter(fact.text))


def _same_matter(a: str, b: str) -> bool:
    """Tell whether two sentences are about the same, whatever they say of it: numbers are part of that."""
    one, other = without_numbers(matter(a)), without_numbers(matter(b))
    return contains(one, other) and contains(other, one)


def _is_other_value(candidate: Candidate, fact: Fact) -> bool:
    same_place = fact.kind == candidate.kind and fact.subject == candidate.subject
    return KINDS[candidate.kind].single and same_place


def _is_same_value(candidate: Candidate, fact: Fact) -> bool:
    if candidate.kind not in _NAMED_VALUE or fact.kind != candidate.kind or fact.subject != candidate.subject:
        return False
    value = names(candidate.text) | numbers(candidate.text)
    return bool(value) and same_numbers_names_negation(candidate.text, fact.text)


def similarity(vector: NDArray[np.float32] | None, fact: Fact, embedder_name: str) -> float | None:
    """Return the cosine with a stored fact, or None when its vector is missing or another embedder's."""
    if vector is None or not fact.embedding or fact.embedder != embedder_name:
        return None
    return cosine(vector, np.frombuffer(bytes(fact.embedding), dtype=np.float32))


def _repeats(
    candidate: Candidate, vector: NDArray[np.float32] | None, fact: Fact, embedder_name: str
) -> bool:
    if ends(candidate.text) != ends(fact.text):
        return False
    if fact.kind == candidate.kind and says_the_same(candidate.text, fact.text):
        return True
    if _is_same_value(candidate, fact):
        return True
    close = similarity(vector, fact, embedder_name)
    if close is None or not same_numbers_names_negation(candidate.text, fact.text):
        return False
    if close >= SAME.get(embedder_name, _UNMEASURED):
        return True
    within = contains(core(candidate.text), core(fact.text))
    return within and close >= SAME_AND_WITHIN.get(embedder_name, _UNMEASURED)
