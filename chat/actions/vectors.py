"""Keeps stored vectors in step with the embedder: a changed one re-indexes and nothing fails (design §4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from chat.models import Fact

BATCH = 50  # half a second of embedding


def outdated(embedder_name: str) -> list[Fact]:
    """Return some facts that have no vector of this embedder, live ones and those that may come back."""
    rows = Fact.objects.exclude(embedder=embedder_name).filter(deletion__isnull=True)
    return list(rows.only("text").order_by("pk")[:BATCH])


def store(facts: Sequence[Fact], vectors: Sequence[NDArray[np.float32]], embedder_name: str) -> None:
    """Write the vectors of facts whose text is still the one that was embedded."""
    with transaction.atomic():
        now = dict(Fact.objects.filter(pk__in=[fact.pk for fact in facts]).values_list("pk", "text"))
        current = []
        for fact, vector in zip(facts, vectors, strict=True):
            if now.get(fact.pk) == fact.text:
                fact.embedding, fact.embedder = vector.astype(np.float32).tobytes(), embedder_name
                current.append(fact)
        Fact.objects.bulk_update(current, ["embedding", "embedder"])
