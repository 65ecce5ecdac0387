"""Chooses the facts that are evicted when memory is full: pure arithmetic."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

CAP = 150  # the maximum number of facts
PRUNE_FROM = 120  # above this number facts are evicted gradually
CATEGORY_WEIGHTS = {"project": 0.8, "preference": 0.3, "identity": 0.5}  # a higher weight is evicted sooner
# Below the cap at most this many facts are evicted after one extraction.
MAX_GRADUAL_EVICTIONS = 3
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Evictable:
    """The values of an unpinned live fact that decide about its eviction; `confidence` is 0–1."""

    id: UUID
    category: str
    confidence: float
    last_seen: datetime


def compute_eviction_score(fact: Evictable, now: datetime) -> float:
    """Return `days since last seen × category weight / confidence`; the highest scores are evicted first."""
    age = max(0.0, (now - fact.last_seen) / _DAY)
    return age * CATEGORY_WEIGHTS[fact.category] / max(fact.confidence, 0.01)


def choose_evicted_facts(
    facts: Sequence[Evictable], held: int, now: datetime, *, pending: int = 0, keep: Collection[UUID] = ()
) -> list[UUID]:
    """Return the ids of the facts to evict, the highest eviction score first.

    `held` counts all stored facts, with the pinned ones and the `pending` ones whose deletion can be undone.
    Above CAP as many facts are evicted as exceed it. Above PRUNE_FROM at most MAX_GRADUAL_EVICTIONS are
    evicted in one pass, never to below PRUNE_FROM. Facts seen within the last 24 hours are evicted only if
    the facts without the pending ones exceed CAP. `keep` (added or restored by this pass) is evicted last.
    """

    def order(fact: Evictable) -> tuple[bool, bool, float, float, str]:
        is_recent = now - fact.last_seen < _DAY
        return (
            fact.id in keep,
            is_recent,
            -compute_eviction_score(fact, now),
            fact.last_seen.timestamp(),
            str(fact.id),
        )

    ranked = sorted(facts, key=order)
    older = sum(fact.id not in keep and now - fact.last_seen >= _DAY for fact in facts)
    must = max(0, held - pending - CAP)
    may = max(held - CAP, min(MAX_GRADUAL_EVICTIONS, held - PRUNE_FROM))
    return [fact.id for fact in ranked[: max(must, min(may, older))]]
