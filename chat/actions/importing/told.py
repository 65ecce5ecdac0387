"""What apps remember that comes in: what is here stays, and what was forgotten here stays so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from chat.actions import app_memories
from chat.actions.owners import redacts
from chat.memory.secrets import redact
from chat.models import AppMemory, Conversation
from chat.porting.shapes import AppIn, AppMemoryIn

from .chats import Chats
from .forgotten import Forgotten
from .keys import own_keys
from .outcome import Options, Outcome
from .rooms import Rooms


class Told:
    """What apps remember: at most ten each, of each conversation once, in the words of here where both do."""

    def __init__(
        self,
        owner: Any,
        apps: Sequence[AppIn],
        rooms: Rooms,
        chats: Chats,
        options: Options,
        outcome: Outcome,
    ) -> None:
        self._owner, self._rooms, self._chats = owner, rooms, chats
        # As it is now: what was forgotten while the file was read is forgotten too.
        self._forgotten = Forgotten(owner, ignored=options.forgotten)
        self._options, self._outcome = options, outcome
        self._redacts = redacts(owner.pk)
        given = [memory for app in apps for memory in app.memories]
        self._keys = own_keys(AppMemory, owner, [memory.id for memory in given])
        remembered = AppMemory.objects.for_owner(owner)
        known = remembered.filter(pk__in=self._keys.values())
        self._here = set(known.values_list("pk", flat=True))
        self._leaving = set(known.filter(deletion__isnull=False).values_list("pk", flat=True))
        self._held = Counter(remembered.values_list("app", flat=True))
        told_of = remembered.filter(source_conversation__isnull=False)
        self._sources = set(told_of.values_list("source_conversation", flat=True))
        sources = [self._source(memory) for memory in given]
        told = Conversation.objects.for_owner(owner).filter(
            pk__in=[source for source in sources if source is not None]
        )
        self._told = dict(told.values_list("pk", "app_memory_after"))
        self.rows = [row for app in apps for row in self._of(app)]

    def write(self) -> None:
        """Store what is new. In the caller's transaction."""
        AppMemory.objects.bulk_create(self.rows)

    def _of(self, app: AppIn) -> list[AppMemory]:
        key = self._rooms.keys[app.id]
        room = app_memories.MOST - self._held[key]
        rows: list[AppMemory] = []
        for memory in sorted(app.memories, key=lambda m: m.updated_at, reverse=True):
            refusal = self._refusal(memory, key)
            if refusal is None:
                self._outcome.app_memories.there += 1
            elif refusal or len(rows) >= room:
                why = refusal or _("This app remembers ten chats already.")
                self._outcome.refuse(self._outcome.app_memories, memory.content, why)
            else:
                self._outcome.app_memories.added += 1
                rows.append(self._row(memory, key))
        return rows

    def _refusal(self, memory: AppMemoryIn, app: UUID) -> str | None:
        """Return why a memory is not taken: nothing where it is, None where it is here already."""
        key, source = self._keys[memory.id], self._source(memory)
        if key in self._here:
            return _("It is being forgotten here. Undo that first.") if key in self._leaving else None
        if self._forgotten.leaving_told(memory.content):
            return _("It is being forgotten here. Undo that first.")
        keys = (memory.id, key, memory.source_conversation, source)
        if self._forgotten.knows_told(memory.content, keys, app, memory.updated_at):
            return self._was_forgotten()
        if memory.source_conversation in self._chats.refused:
            return _("Its chat is not taken.")
        if source is None:
            return ""
        if source in self._sources:
            return _("This chat is remembered in other words here.")
        self._sources.add(source)
        through = memory.metadata.get("through")
        if self._options.forgotten or source in self._chats.added or not isinstance(through, int):
            return ""
        return "" if self._told.get(source, 0) < through else self._was_forgotten()

    def _was_forgotten(self) -> str:
        self._outcome.forgotten += 1
        return _("You have forgotten this here.")

    def _source(self, memory: AppMemoryIn) -> UUID | None:
        source = memory.source_conversation
        return None if source is None else self._chats.keys.get(source)

    def _row(self, memory: AppMemoryIn, app: UUID) -> AppMemory:
        metadata = dict(memory.metadata)
        if "related_conversations" in metadata:
            known = {str(given): str(here) for given, here in self._chats.keys.items()}
            related = metadata["related_conversations"]
            metadata["related_conversations"] = [known.get(key, key) for key in related]
        return AppMemory(
            pk=self._keys[memory.id],
            owner=self._owner,
            app_id=app,
            content=redact(memory.content)[:200] if self._redacts else memory.content,
            metadata=metadata,
            edited=memory.edited,
            source_conversation_id=self._source(memory),
            created_at=memory.created_at,
            updated_at=memory.updated_at,
        )
