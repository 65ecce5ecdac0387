"""Which facts make room for others: pure arithmetic (seed 004, "Eviction Strategy"; design §5)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

CAP = 150  # seed 004, "Hard cap"
PRUNE_FROM = 120  # seed 004, "Prune threshold"
WEIGHTS = {"project": 0.8, "preference": 0.3, "identity": 0.5}  # seed 004, "Category weights"
# Seed 004 asks for "gradual" eviction: memory shrinks back to the threshold over some looks, not in one.
A_FEW = 3
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Evictable:
    """What of an unpinned live fact decides whether it may stay."""

    id: UUID
    category: str
    confidence: float
    last_seen: datetime


def score(fact: Evictable, now: datetime) -> float:
    """Return `age in days × weight / confidence`; the higher, the sooner the fact leaves."""
    age = max(0.0, (now - fact.last_seen) / _DAY)
    return age * WEIGHTS[fact.category] / max(fact.confidence, 0.01)


def choose(
    facts: Sequence[Evictable], held: int, now: datetime, *, pending: int = 0, keep: Collection[UUID] = ()
) -> list[UUID]:
    """Return who leaves, first the one that leaves soonest.

    `held` counts the places that are taken, pinned facts and the `pending` ones on their way out included.
    Above the cap as many leave as it takes. From the threshold on at most `A_FEW` a pass, never below the
    threshold. Both take only facts that were not said within a day, unless the live ones alone pass the cap:
    nothing that was just said vanishes because much is on its way out. `keep` (what this pass has just added
    or brought back) leaves last of all.
    """

    def order(fact: Evictable) -> tuple[bool, bool, float, float, str]:
        said_today = now - fact.last_seen < _DAY
        return (fact.id in keep, said_today, -score(fact, now), fact.last_seen.timestamp(), str(fact.id))

    ranked = sorted(facts, key=order)
    older = sum(fact.id not in keep and now - fact.last_seen >= _DAY for fact in facts)
    must = max(0, held - pending - CAP)
    may = max(held - CAP, min(A_FEW, held - PRUNE_FROM))
    return [fact.id for fact in ranked[: max(must, min(may, older))]]
