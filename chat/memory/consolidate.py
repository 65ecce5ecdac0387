"""What a new fact does to those known: stands beside them, repeats one, or replaces one (design §5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from chat.memory.extract import Candidate
from chat.memory.kinds import KINDS
from chat.memory.similar import contains, core, cosine, normalise, same_numbers_names_negation, says_the_same
from chat.models import Fact

# Cosine from which two facts say the same, per embedder. Measured with MiniLM on pairs of our own:
# "likes jazz" / "enjoys jazz music" 0.90, but "vegetarian" / "vegan" 0.89, "drinks tea" / "drinks coffee"
# 0.83.
SAME = {"minilm-l6-int8": 0.90}
# The same when all the words of one are in the other: "is a nurse" / "is a nurse in a hospital" 0.88.
SAME_AND_WITHIN = {"minilm-l6-int8": 0.80}
_UNMEASURED = 0.95  # an embedder that nobody measured has to be surer


class Action(StrEnum):
    """What to do with a candidate."""

    ADD = "add"
    REINFORCE = "reinforce"
    SUPERSEDE = "supersede"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, to which live fact, and why in plain words for the history."""

    action: Action
    target: Fact | None
    reason: str


def decide(
    candidate: Candidate, vector: NDArray[np.float32] | None, live: Sequence[Fact], embedder_name: str
) -> Decision:
    """Return what a candidate does to the owner's live facts; `vector` is None where there is no embedder.

    Rules alone, no model: where none fits the answer is ADD.
    """
    equal = normalise(candidate.text)
    for fact in live:
        if normalise(fact.text) == equal:
            return Decision(Action.REINFORCE, fact, "said again in the same words")
    rivals = [fact for fact in live if fact.category == candidate.category]
    for fact in rivals:
        if _repeats(candidate, vector, fact, embedder_name):
            return Decision(Action.REINFORCE, fact, "said again in other words")
    for fact in rivals:
        if _is_opposite(candidate, fact):
            return Decision(Action.SUPERSEDE, fact, "the opposite was said")
        if _is_other_value(candidate, fact):
            return Decision(Action.SUPERSEDE, fact, f"one {candidate.kind.replace('_', ' ')} at a time")
    return Decision(Action.ADD, None, "new")


def _is_other_value(candidate: Candidate, fact: Fact) -> bool:
    same_place = fact.kind == candidate.kind and fact.subject == candidate.subject
    return KINDS[candidate.kind].single and same_place


def similarity(vector: NDArray[np.float32] | None, fact: Fact, embedder_name: str) -> float | None:
    """Return the cosine with a stored fact, or None when its vector is missing or another embedder's."""
    if vector is None or not fact.embedding or fact.embedder != embedder_name:
        return None
    return cosine(vector, np.frombuffer(bytes(fact.embedding), dtype=np.float32))


def _repeats(
    candidate: Candidate, vector: NDArray[np.float32] | None, fact: Fact, embedder_name: str
) -> bool:
    if fact.kind == candidate.kind and says_the_same(candidate.text, fact.text):
        return True
    close = similarity(vector, fact, embedder_name)
    if close is None or not same_numbers_names_negation(candidate.text, fact.text):
        return False
    if close >= SAME.get(embedder_name, _UNMEASURED):
        return True
    within = contains(core(candidate.text), core(fact.text))
    return within and close >= SAME_AND_WITHIN.get(embedder_name, _UNMEASURED)


def _is_opposite(candidate: Candidate, fact: Fact) -> bool:
    """Tell whether a like takes back a dislike of the same thing, or the other way round."""
    return {candidate.kind, fact.kind} == {"likes", "dislikes"} and core(candidate.text) == core(fact.text)


def repeated(
    candidate: Candidate, vector: NDArray[np.float32] | None, facts: Sequence[Fact], embedder_name: str
) -> Fact | None:
    """Return the first of these facts that the candidate says again, in the same words or in others."""
    equal = normalise(candidate.text)
    for fact in facts:
        same_shelf = fact.category == candidate.category
        if normalise(fact.text) == equal or (same_shelf and _repeats(candidate, vector, fact, embedder_name)):
            return fact
    return None
