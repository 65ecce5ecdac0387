"""The events of a fact: every change of it writes one, and together they say where it comes from.

They name the messages that mention the fact and tell what the user did to it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from chat.memory import confidence
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


# Kinds of events that count as mentions when memory wrote them, and as a confirmation when the user did.
_MENTIONS = (FactEventKind.ADD, FactEventKind.REINFORCE, FactEventKind.RESTORE)
_CONFIRMATIONS = (*_MENTIONS, FactEventKind.EDIT, FactEventKind.PIN)


@dataclass(slots=True)
class FactMentions:
    """Where a fact comes from: mentions in replaced messages, other mentions, and acts of the user."""

    fact: Fact
    replaced: list[FactEvent] = field(default_factory=list)
    others: list[FactEvent] = field(default_factory=list)
    is_confirmed: bool = False

    @property
    def is_first_replaced(self) -> bool:
        """Whether the first mention is in a replaced message."""
        first = min((*self.replaced, *self.others), key=lambda event: event.created_at)
        return first in self.replaced

    @property
    def lost_mentions(self) -> int:
        """The number of mentions to take back; one is always left."""
        return min(len(self.replaced), self.fact.mention_count - 1)

    @property
    def lost_confidence(self) -> float:
        """The part of the fact's present confidence that comes from mentions in messages replaced since."""
        counted = [event for event in self.replaced if event.kind == FactEventKind.REINFORCE]
        if self.is_first_replaced:
            # The next mention becomes the first one, which gives the initial confidence.
            counted += [event for event in self.others if event.kind == FactEventKind.REINFORCE][:1]
        rise = sum(e.after.get("confidence", 0) - e.before.get("confidence", 0) for e in counted)
        left = self.fact.confidence - confidence.CONFIDENCE_FLOOR
        return round(float(max(0.0, min(rise, left))), 6)


def find_mentions(fact: Fact, replaced: Collection[UUID]) -> FactMentions:
    """Return where a fact comes from when the messages `replaced` no longer count.

    The fact's events must be loaded.
    """
    sources = FactMentions(fact)
    for event in fact.events.all():
        if event.actor == USER and event.kind in _CONFIRMATIONS:
            sources.is_confirmed = True
        elif is_mention(event):
            said_in = event.source_message
            if said_in is not None and said_in.pk in replaced:
                sources.replaced.append(event)
            elif said_in is None or said_in.replaced_by_id is None:
                sources.others.append(event)
    return sources


def is_mention(event: FactEvent) -> bool:
    """Return whether memory found the fact in a message by this event."""
    return event.actor == MEMORY and event.kind in _MENTIONS
