"""What is known of the owner as a prompt needs it: the columns that count, no model instances."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from chat.llm.embedder import Embedder
from chat.memory import relevance
from chat.memory.asking import Ask, read
from chat.memory.lines import one_line
from chat.models import Deletion, DeletionState, Fact


@dataclass(frozen=True, slots=True)
class Known:
    """A live fact."""

    id: UUID
    text: str
    category: str
    kind: str
    pinned: bool
    confidence: float
    last_used: datetime
    last_seen: datetime
    version: int
    source_message_id: UUID | None


_COLUMNS = tuple(Known.__dataclass_fields__)


def live(owner: Any) -> list[Known]:
    """Return the owner's live facts, in one query over an index."""
    return [Known(*row) for row in Fact.objects.for_owner(owner).live().values_list(*_COLUMNS)]


@dataclass(frozen=True, slots=True)
class Relevant:
    """What is known, what a message asks for, and how much each fact has to do with it."""

    facts: list[Known]
    ask: Ask
    relevance: dict[UUID, float]


def live_for(owner: Any, message: str, embedder: Embedder | None) -> Relevant:
    """Return the owner's live facts as they matter to a message.

    One query; the vectors come with it only where they can tell something. Then the message is embedded (some
    9 ms), so call it outside any transaction.
    """
    ask = read(message)
    if embedder is None or ask.greeting or not ask.english:
        facts = live(owner)
        return Relevant(facts, ask, {} if ask.greeting else weigh(facts, ask, {}, ""))
    facts, vectors = [], {}
    rows = Fact.objects.for_owner(owner).live().values_list(*_COLUMNS, "embedder", "embedding")
    for *columns, name, embedding in rows:
        facts.append(Known(*columns))
        if embedding and name == embedder.name:
            vectors[facts[-1].id] = bytes(embedding)
    near = relevance.cosines(_vector(embedder, message), vectors) if vectors else {}
    return Relevant(facts, ask, weigh(facts, ask, near, embedder.name))


def weigh(facts: list[Known], ask: Ask, near: dict[UUID, float], embedder: str) -> dict[UUID, float]:
    """Return how much each fact has to do with what is asked; `near` holds cosines by fact."""
    return {f.id: relevance.relevance(ask, f, near.get(f.id), embedder) for f in facts}


def leaving(owner: Any) -> set[str]:
    """Return every text, as a line, of the facts that are being forgotten."""
    if not Deletion.objects.for_owner(owner).pending().exists():
        return set()
    facts = Fact.objects.for_owner(owner).filter(deletion__state=DeletionState.PENDING)
    return {one_line(text) for text in facts.wordings()}


def _vector(embedder: Embedder, message: str) -> NDArray[np.float32] | None:
    try:
        vector: NDArray[np.float32] = embedder.embed([message])[0]
    except OSError:
        # Its weights have gone since it was found: memory works without an embedder too.
        return None
    return vector
