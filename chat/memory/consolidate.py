"""What a new fact does to those already known: stands beside them, repeats one, or replaces one (design §5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from chat.memory.extract import Candidate
from chat.memory.kinds import KINDS
from chat.memory.similar import (
    content,
    cosine,
    names,
    negated,
    normalise,
    numbers,
    same_numbers_names_negation,
)
from chat.models import Fact

# Measured with MiniLM on pairs of our own (tests/memory/test_consolidate_real.py): paraphrases of a fact reach
# 0.77 and more, two likes of different things up to 0.85, so a vector alone repeats a fact only above that.
SAME = {"minilm-l6-int8": 0.90}
# Within one single-valued kind two values with the same names are the same value, however it is put.
SAME_SINGLE = {"minilm-l6-int8": 0.70}
# An embedder that nobody measured has to be surer.
_UNMEASURED = 0.95


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
    known = [fact for fact in live if normalise(fact.text) == normalise(candidate.text)]
    if known:
        return Decision(Action.REINFORCE, known[0], "said again in the same words")
    if KINDS[candidate.kind].single:
        held = [f for f in live if f.kind == candidate.kind and f.subject == candidate.subject]
        if held:
            return _same_or_new_value(candidate, vector, held[0], embedder_name)
    repeated = _repeated(candidate, vector, live, embedder_name)
    if repeated:
        return Decision(Action.REINFORCE, repeated, "said again in other words")
    return Decision(Action.ADD, None, "new")


def similarity(vector: NDArray[np.float32] | None, fact: Fact, embedder_name: str) -> float | None:
    """Return the cosine with a stored fact, or None when its vector is missing or another embedder's."""
    if vector is None or not fact.embedding or fact.embedder != embedder_name:
        return None
    return cosine(vector, np.frombuffer(bytes(fact.embedding), dtype=np.float32))


def _same_or_new_value(
    candidate: Candidate, vector: NDArray[np.float32] | None, held: Fact, embedder_name: str
) -> Decision:
    if says_the_same(candidate.text, held.text):
        return Decision(Action.REINFORCE, held, "said again in other words")
    close = similarity(vector, held, embedder_name)
    alike = close is not None and close >= SAME_SINGLE.get(embedder_name, _UNMEASURED)
    # Without a name or a number to compare, nearness cannot tell "vegetarian" from "vegan".
    telling = bool(names(candidate.text) or numbers(candidate.text))
    if alike and telling and same_numbers_names_negation(candidate.text, held.text):
        return Decision(Action.REINFORCE, held, "said again in other words")
    return Decision(Action.SUPERSEDE, held, f"there is one {candidate.kind.replace('_', ' ')} at a time")


def _repeated(
    candidate: Candidate, vector: NDArray[np.float32] | None, live: Sequence[Fact], embedder_name: str
) -> Fact | None:
    threshold = SAME.get(embedder_name, _UNMEASURED)
    scored = [
        (similarity(vector, f, embedder_name) or 0.0, f) for f in live if f.category == candidate.category
    ]
    for score, fact in sorted(scored, key=lambda pair: -pair[0]):
        if fact.kind == candidate.kind and says_the_same(candidate.text, fact.text):
            return fact
        if score >= threshold and same_numbers_names_negation(candidate.text, fact.text):
            return fact
    return None


def says_the_same(new: str, old: str) -> bool:
    """Tell whether the new sentence uses only words that the old one has, with equal numbers and negation."""
    wanted = content(new)
    return (
        bool(wanted)
        and wanted <= content(old)
        and numbers(new) <= numbers(old)
        and negated(new) == negated(old)
    )
