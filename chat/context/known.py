"""What is known of the owner as a prompt needs it: the columns that count, no model instances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from chat.llm.embedder import Embedder
from chat.memory import relevance
from chat.memory.asking import Ask, read
from chat.memory.lines import one_line
from chat.memory.prototypes import Prototypes
from chat.memory.relevance import UNSEEN, Sight
from chat.models import AppMemory, Deletion, DeletionState, Fact


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
    if ask.greeting:
        return Relevant(live(owner), ask, {})
    if embedder is None or not ask.english:
        facts = live(owner)
        return Relevant(facts, ask, weigh(facts, ask, {}, ""))
    facts, vectors = live_with_vectors(owner, embedder)
    ask, seen = _seen(embedder, message, ask, vectors)
    return Relevant(facts, ask, weigh(facts, ask, seen, embedder.name))


def live_with_vectors(owner: Any, embedder: Embedder) -> tuple[list[Known], dict[UUID, bytes]]:
    """Return the owner's live facts, and the vectors of those that this embedder has seen, in one query."""
    facts, vectors = [], {}
    rows = Fact.objects.for_owner(owner).live().values_list(*_COLUMNS, "embedder", "embedding")
    for *columns, name, embedding in rows:
        facts.append(Known(*columns))
        if embedding and name == embedder.name:
            vectors[facts[-1].id] = bytes(embedding)
    return facts, vectors


def weigh(facts: list[Known], ask: Ask, seen: dict[UUID, Sight], embedder: str) -> dict[UUID, float]:
    """Return how much each fact has to do with what is asked; `seen` holds what vectors tell of it."""
    return {f.id: relevance.relevance(ask, f, seen.get(f.id, UNSEEN), embedder) for f in facts}


@lru_cache(maxsize=2)
def prototypes(embedder: Embedder) -> Prototypes:
    """Return the embedder's example vectors; the first time takes some 300 ms."""
    return Prototypes.of(embedder.embed)


def _seen(
    embedder: Embedder, message: str, ask: Ask, vectors: dict[UUID, bytes]
) -> tuple[Ask, dict[UUID, Sight]]:
    try:
        examples = prototypes(embedder)
        vector = embedder.embed([message])[0]
    except OSError:
        # Its weights have gone since it was found: memory works without an embedder too.
        return ask, {}
    ask = replace(ask, fields=ask.fields | examples.asked(vector))
    return ask, relevance.sights(vector, vectors, examples if ask.fields else None)


def leaving(owner: Any) -> set[str]:
    """Return every text, as a line, of the facts and app memories that are being forgotten."""
    if not Deletion.objects.for_owner(owner).pending().exists():
        return set()
    facts = Fact.objects.for_owner(owner).filter(deletion__state=DeletionState.PENDING)
    remembered = AppMemory.objects.for_owner(owner).filter(deletion__state=DeletionState.PENDING)
    return {one_line(text) for text in (*facts.wordings(), *remembered.values_list("content", flat=True))}
