"""The rows of facts that come in, and of their histories, without secrets and forgotten words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from chat.memory.secrets import redact
from chat.models import Fact, FactEvent
from chat.porting.shapes import FactIn

from .facts import Facts, is_live
from .keys import derived
from .sources import Sources

_LEFT = {"id", "history", "undated", "source_conversation", "source_message", "supersedes", "text", "quote"}


class Rows:
    """Makes rows of what was decided; `sources` and `there` say to what of here they may point.

    `there` are keys of facts that one of these may have replaced.
    """

    def __init__(self, plan: Facts, sources: Sources, there: Collection[UUID]) -> None:
        self._plan, self._sources, self._there = plan, sources, there

    def fact(self, given: FactIn) -> Fact:
        """Return the row of a new fact, unsaved."""
        plan = self._plan
        return Fact(pk=plan.keys[given.id], owner=plan.owner, **self.columns(given))

    def columns(self, given: FactIn) -> dict[str, Any]:
        """Return what the file says of a fact, by the names of its columns."""
        plan, sources = self._plan, self._sources
        columns = {name: getattr(given, name) for name in FactIn.model_fields if name not in _LEFT}
        older = plan.keys.get(given.supersedes) if given.supersedes else None
        return columns | {
            "text": self._safe(given.text),
            "quote": self._safe(given.quote),
            "pinned": given.pinned and is_live(given) and given.id not in plan.unpinned | plan.over,
            "source_conversation_id": sources.conversation(given.source_conversation),
            "source_message_id": sources.message(given.source_message),
            "supersedes_id": older if older in self._there else None,
        }

    def history(self, given: FactIn) -> list[FactEvent]:
        """Return the events of a fact that are not here yet, unsaved."""
        plan, rows = self._plan, []
        key = plan.keys[given.id]
        for number, event in enumerate(given.history):
            pk = self._event_key(key, given, number)
            if pk not in plan.events.get(key, set()):
                rows.append(
                    FactEvent(
                        pk=pk,
                        fact_id=key,
                        kind=event.kind,
                        before=self._state(event.before, event.created_at),
                        after=self._state(event.after, event.created_at),
                        actor=event.actor,
                        reason=event.reason,
                        source_message_id=self._sources.message(event.source_message),
                        created_at=event.created_at,
                    )
                )
        return rows

    def _event_key(self, key: UUID, fact: FactIn, number: int) -> UUID:
        given = fact.history[number].id
        if given is None or key != fact.id or given in self._plan.foreign:
            return derived(self._plan.owner, given or fact.id, key, number)
        return given

    def _state(self, state: dict[str, Any], at: Any) -> dict[str, Any]:
        text = state.get("text")
        if text is None:
            return state
        if self._plan.stones.knows(text, at):
            return {name: value for name, value in state.items() if name != "text"}
        return {**state, "text": self._safe(text)}

    def _safe(self, text: str) -> str:
        return redact(text) if self._plan.redacts and text else text
