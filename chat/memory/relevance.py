"""How much a known fact has to do with a message: words, fields of life, vectors (design §6). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from chat.memory.asking import Ask, is_english, terms
from chat.memory.fields import fields, meets
from chat.memory.prototypes import Matrix, Prototypes
from chat.memory.rank import Rankable

# Cosine from which a fact answers to a message, per embedder. Measured with MiniLM on English cases of our
# own: unrelated pairs stay below 0.19, a third of the related ones is above 0.25. In other languages
# unrelated pairs reach 0.49, so there words decide alone.
NEAR = {"minilm-l6-int8": 0.25}
_UNMEASURED = 0.6  # an embedder that nobody measured has to be surer


# Kinds that a vector may place in a field; the others are about one thing, and all sentences of the house
# style are alike enough to be taken for something else ("lives in Graz" is near to food).
_LOOSE = frozenset({"likes", "dislikes", "diet", "habit", "event", "health", "job"})


@dataclass(frozen=True, slots=True)
class Sight:
    """What vectors tell of a fact: its cosine with the message, and its field."""

    cosine: float = 0.0
    fields: frozenset[str] = frozenset()


UNSEEN = Sight()


def relevance(ask: Ask, fact: Rankable, sight: Sight = UNSEEN, embedder: str = "") -> float:
    """Return how much a fact has to do with a message, 0 when nothing."""
    own = terms(fact.text)
    score = len(ask.terms & own) / len(own) if own else 0.0
    placed = sight.fields if fact.kind in _LOOSE else frozenset()
    close = sight.cosine >= NEAR.get(embedder, _UNMEASURED)
    # Asked last, for few facts: in other languages what an English embedder sees means nothing.
    trusted = ask.english and (close or not placed.isdisjoint(ask.fields)) and is_english(fact.text)
    if ask.fields:
        score += meets(ask.fields, fact.kind, fields(fact.text) | placed if trusted else fields(fact.text))
    return score + sight.cosine if close and trusted else score


def calls_for_person(ask: Ask, identity: Mapping[UUID, float]) -> bool:
    """Return whether a message about "my…" needs who the user is, though no fact answers to its words.

    `identity` holds the relevance of the identity facts. Where one of them answers, or the message is about
    something definite, the others only take its room.
    """
    return ask.personal and not ask.fields and not any(identity.values())


def sights(
    message: Matrix, embeddings: Mapping[UUID, bytes], prototypes: Prototypes | None
) -> dict[UUID, Sight]:
    """Return what vectors of unit length tell of each fact; those of another size are left out."""
    sized = {key: blob for key, blob in embeddings.items() if len(blob) == message.nbytes}
    if not sized:
        return {}
    rows = np.frombuffer(b"".join(sized.values()), dtype=np.float32).reshape(len(sized), -1)
    placed = prototypes.said(rows) if prototypes else [frozenset[str]()] * len(sized)
    return {
        key: Sight(cosine, where)
        for key, cosine, where in zip(sized, (rows @ message).tolist(), placed, strict=True)
    }
