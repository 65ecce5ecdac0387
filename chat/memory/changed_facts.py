"""Finds the stored facts that a message changes, by the classifier of `effect_classifier`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from chat.llm.embedder import Embedder
from chat.memory.candidates import FactCandidate
from chat.memory.consolidate import Action, Opinion
from chat.memory.effect_classifier import ENDED, REPLACED, estimate_effects
from chat.models import Fact

# A sentence changes a fact if the probability is at least this. In the update cases 70 % of the facts that
# must be lost reach it, and 86 % of those that reach it must be lost. Where memory holds 150 facts, 4 % of
# ordinary messages reach it with one of them (`tests/benchmarks/train_effects.py`).
_MIN_PROBABILITY = 0.45
Vector = NDArray[np.float32]
_REPLACED = "replaced by what was said later"
_OVER = "the user said that it is over"


@dataclass(frozen=True, slots=True)
class FactChange:
    """A sentence that changes a stored fact. `is_over` if it ends the fact rather than gives a new value."""

    sentence: str
    fact: Fact
    probability: float
    is_over: bool

    def fits(self, candidate: FactCandidate, vector: Vector | None) -> bool:
        """Return whether a candidate may state the new value of the fact.

        It must come from this sentence, and be about the same thing as the fact: of "turned 30 on Tuesday and
        my knee hurts" the candidate about the knee does not state a new age. `vector` is the candidate's unit
        vector.
        """
        if not _overlap(self.sentence, candidate.quote):
            return False
        if self.is_over or candidate.in_own_words or candidate.kind == self.fact.kind:
            return True
        if vector is None:
            return False
        effects = estimate_effects(vector, _stack_vectors([self.fact]), self.fact.embedder)
        return effects is not None and effects[0][REPLACED] >= max(effects[0][ENDED], _MIN_PROBABILITY / 2)

    def build_opinion(self, action: Action) -> Opinion:
        """Return the change as an opinion about the fact."""
        reason = _REPLACED if action is Action.SUPERSEDE else _OVER
        return Opinion(action, self.fact.pk, self.fact.version, reason)


@dataclass(slots=True)
class FactChanges:
    """What one message may change, the most probable first. Each fact is changed once."""

    changes: list[FactChange] = field(default_factory=list)
    _taken: set[UUID] = field(default_factory=set)

    def list_new_values(
        self, candidates: Sequence[FactCandidate], vectors: Sequence[Vector | None]
    ) -> dict[str, str]:
        """Return the sentences that replace the value of a fact, where no candidate states the new value.

        The result maps each sentence to the kind of that fact. `vectors` are the candidates' unit vectors.
        """
        found: dict[str, str] = {}
        for change in self.changes:
            is_stated = any(map(change.fits, candidates, vectors))
            if not change.is_over and not is_stated:
                found.setdefault(change.sentence, change.fact.kind)
        return found

    def take_for(self, candidate: FactCandidate, vector: Vector | None) -> Opinion | None:
        """Return that a candidate takes the place of the fact that its sentence changes; None without one."""
        for change in self.changes:
            if change.fact.pk not in self._taken and change.fits(candidate, vector):
                self._taken.add(change.fact.pk)
                return change.build_opinion(Action.SUPERSEDE)
        return None

    def take_endings(self) -> list[Opinion]:
        """Return that the facts end that no candidate takes the place of."""
        ended = [change for change in self.changes if change.fact.pk not in self._taken]
        self._taken.update(change.fact.pk for change in ended)
        return [change.build_opinion(Action.END) for change in ended]

    def is_settled(self, sentence: str) -> bool:
        """Return whether a fact that the sentence changes has been replaced or ended by this message."""
        return any(c.fact.pk in self._taken and _overlap(c.sentence, sentence) for c in self.changes)


def find_changes(sentences: Sequence[str], live: Sequence[Fact], embedder: Embedder | None) -> FactChanges:
    """Return which of the live facts the sentences of a message change.

    There are no changes without weights for the embedder. Embeds the sentences. Facts without a vector of
    this embedder are left out.
    """
    if embedder is None or not sentences:
        return FactChanges()
    facts = [fact for fact in live if fact.embedding and fact.embedder == embedder.name]
    if not facts:
        return FactChanges()
    known = _stack_vectors(facts)
    best: dict[UUID, FactChange] = {}
    for sentence, vector in zip(sentences, embedder.embed(list(sentences)), strict=True):
        effects = estimate_effects(vector, known, embedder.name)
        if effects is None:
            break
        for fact, effect in zip(facts, effects, strict=True):
            probability = _get_probability(effect)
            change = FactChange(sentence, fact, probability, bool(effect[ENDED] > effect[REPLACED]))
            if probability >= _MIN_PROBABILITY and (
                fact.pk not in best or best[fact.pk].probability < probability
            ):
                best[fact.pk] = change
    return FactChanges(sorted(best.values(), key=lambda change: -change.probability))


def _stack_vectors(facts: Sequence[Fact]) -> Vector:
    return np.stack([np.frombuffer(bytes(fact.embedding or b""), dtype=np.float32) for fact in facts])


def _get_probability(effects: Vector) -> float:
    """Return the probability that a fact is changed."""
    return float(effects[REPLACED] + effects[ENDED])


def _overlap(sentence: str, quote: str) -> bool:
    return bool(quote) and (sentence in quote or quote in sentence)
