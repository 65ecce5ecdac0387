"""How much a known fact has to do with a message: words, fields of life, vectors (design §6). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from chat.memory.asking import Ask, is_english, terms
from chat.memory.fields import fields, meets
from chat.memory.rank import Rankable

# Cosine from which a fact answers to a message, per embedder. Measured with MiniLM on English cases of our
# own: unrelated pairs stay below 0.19, a third of the related ones is above 0.25. In other languages
# unrelated pairs reach 0.49, so there words decide alone.
NEAR = {"minilm-l6-int8": 0.25}
_UNMEASURED = 0.6  # an embedder that nobody measured has to be surer


def relevance(ask: Ask, fact: Rankable, cosine: float | None, embedder: str = "") -> float:
    """Return how much a fact has to do with a message, 0 when nothing; `cosine` is None without vectors."""
    own = terms(fact.text)
    shared = len(ask.terms & own) / len(own) if own else 0.0
    field = meets(ask.fields, fact.kind, fields(fact.text)) if ask.fields else 0.0
    near = 0.0
    if (
        cosine is not None
        and ask.english
        and cosine >= NEAR.get(embedder, _UNMEASURED)
        and is_english(fact.text)
    ):
        near = cosine
    return field + shared + near


def calls_for_person(ask: Ask, identity: Mapping[UUID, float]) -> bool:
    """Return whether a message about "my…" needs who the user is, though no fact answers to its words.

    `identity` holds the relevance of the identity facts. Where one of them answers, or the message is about
    something definite, the others only take its room.
    """
    return ask.personal and not ask.fields and not any(identity.values())


def cosines(vector: NDArray[np.float32] | None, embeddings: Mapping[UUID, bytes]) -> dict[UUID, float]:
    """Return the cosine of each embedding with a vector, all of unit length; other sizes are left out."""
    if vector is None:
        return {}
    sized = {key: blob for key, blob in embeddings.items() if len(blob) == vector.nbytes}
    if not sized:
        return {}
    rows = np.frombuffer(b"".join(sized.values()), dtype=np.float32).reshape(len(sized), -1)
    return dict(zip(sized, (rows @ vector).tolist(), strict=True))
