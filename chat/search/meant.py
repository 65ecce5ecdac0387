"""Which memory somebody means who says it in other words."""

from __future__ import annotations

from typing import Any

from chat.llm.registry import registry
from chat.memory.nearest import cosines, nearest
from chat.models import Fact


def meant(owner: Any, words: str) -> Fact | None:
    """Return the live fact that these words mean, by words and where there are vectors by meaning."""
    facts = list(Fact.objects.for_owner(owner).live().select_related("source_conversation"))
    place = nearest(words, [fact.text for fact in facts], _likeness(words, facts))
    return None if place is None else facts[place]


def _likeness(words: str, facts: list[Fact]) -> list[float]:
    embedder = registry.embedder()
    if embedder is None or not facts:
        return []
    try:
        vector = embedder.embed([words])[0]
    except OSError:
        # Its weights have gone since it was found.
        return []
    mine = [f.embedding if f.embedder == embedder.name else None for f in facts]
    return cosines(vector, [bytes(e) if e else None for e in mine])
