"""What is known of the owner as a prompt needs it: the columns that count, no model instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from chat.llm.embedder import Embedder
from chat.memory import relevance
from chat.memory.asking import Ask, read
from chat.models import Fact


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


def relevances(
    owner: Any, facts: Sequence[Known], message: str, embedder: Embedder | None
) -> tuple[Ask, dict[UUID, float]]:
    """Return what the message asks for, and how much each fact has to do with it.

    Embeds the message where that can tell something (some 9 ms), so call it outside any transaction.
    """
    ask = read(message)
    if ask.greeting:
        return ask, {}
    near: dict[UUID, float] = {}
    name = embedder.name if embedder else ""
    if embedder is not None and facts and ask.english:
        near = relevance.cosines(_vector(embedder, message), _embeddings(owner, name))
    return ask, {f.id: relevance.relevance(ask, f, near.get(f.id), name) for f in facts}


def _vector(embedder: Embedder, message: str) -> NDArray[np.float32] | None:
    try:
        vector: NDArray[np.float32] = embedder.embed([message])[0]
    except OSError:
        # Its weights have gone since it was found: memory works without an embedder too.
        return None
    return vector


def _embeddings(owner: Any, embedder: str) -> dict[UUID, bytes]:
    rows = Fact.objects.for_owner(owner).live().filter(embedder=embedder, embedding__isnull=False)
    return {key: bytes(blob) for key, blob in rows.values_list("id", "embedding") if blob}
