"""The event row that every change of a fact writes in the same transaction."""

from __future__ import annotations

from datetime import date
from typing import Any

from chat.models import Fact, FactEvent, FactEventKind, Message

_COLUMNS = ("text", "category", "kind", "subject", "confidence", "mention_count", "pinned")
# Dates, which are in a state only where the fact has them.
DATES = ("holds_from", "holds_until", "said_on")

# Actors of events.
USER, MEMORY, SYSTEM = "user", "memory", "system"


def snapshot(fact: Fact) -> dict[str, Any]:
    """Return the columns of a fact that its history shows."""
    dates = {name: day.isoformat() for name in DATES if (day := getattr(fact, name)) is not None}
    return {name: getattr(fact, name) for name in _COLUMNS} | dates


def read_dates(state: dict[str, Any]) -> dict[str, date | None]:
    """Return the dates of a fact in a state of its history, by column."""
    return {name: date.fromisoformat(day) if (day := state.get(name)) else None for name in DATES}


def build_event(
    fact: Fact,
    kind: FactEventKind,
    actor: str,
    *,
    before: dict[str, Any] | None = None,
    reason: str = "",
    source: Message | None = None,
) -> FactEvent:
    """Build an unsaved event of a fact in its present state, for functions that write many rows at once."""
    return FactEvent(
        fact=fact,
        kind=kind,
        before=before or {},
        after=snapshot(fact),
        actor=actor,
        reason=reason[:200],
        source_message=source,
    )


def record_event(
    fact: Fact,
    kind: FactEventKind,
    actor: str,
    *,
    before: dict[str, Any] | None = None,
    reason: str = "",
    source: Message | None = None,
) -> None:
    """Save one event of a fact in its present state; `actor` is "user", "memory" or "system"."""
    build_event(fact, kind, actor, before=before, reason=reason, source=source).save()
