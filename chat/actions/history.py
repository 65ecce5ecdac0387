"""The history row that every change of a fact leaves in the same transaction."""

from __future__ import annotations

from typing import Any

from chat.models import Fact, FactEvent, FactEventKind, Message

_KEPT = ("text", "category", "kind", "subject", "confidence", "mention_count", "pinned")

# Who did it.
USER, MEMORY, SYSTEM = "user", "memory", "system"


def snapshot(fact: Fact) -> dict[str, Any]:
    """Return what of a fact its history shows."""
    return {name: getattr(fact, name) for name in _KEPT}


def event(
    fact: Fact,
    kind: FactEventKind,
    actor: str,
    *,
    before: dict[str, Any] | None = None,
    reason: str = "",
    source: Message | None = None,
) -> FactEvent:
    """Return an unsaved event of a fact as it is now, for verbs that write many rows at once."""
    return FactEvent(
        fact=fact,
        kind=kind,
        before=before or {},
        after=snapshot(fact),
        actor=actor,
        reason=reason[:200],
        source_message=source,
    )


def record(
    fact: Fact,
    kind: FactEventKind,
    actor: str,
    *,
    before: dict[str, Any] | None = None,
    reason: str = "",
    source: Message | None = None,
) -> None:
    """Write one event of a fact as it is now; `actor` is "user", "memory" or "system"."""
    event(fact, kind, actor, before=before, reason=reason, source=source).save()
