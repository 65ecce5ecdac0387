"""Builds the rows of imported facts, their events and their relationships.

Secrets are redacted and deleted wordings are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from chat.memory.secrets import redact_secrets
from chat.memory.text_similarity import normalize_text
from chat.models import Conversation, Entity, Fact, FactEvent, Message, Relationship, User
from chat.porting.shapes import ImportedFact, ImportedGraph

from .chats import ChatImporter
from .facts import FactPlan, is_live
from .id_map import derive_id, fetch_columns, map_to_owner_ids

_EXCLUDED = {
    "id",
    "history",
    "undated",
    "source_conversation",
    "source_message",
    "last_seen_conversation",
    "supersedes",
    "text",
    "quote",
}
_LONGEST = 120  # the length of Entity.key


class FactRows:
    """Builds unsaved rows for the facts of a plan.

    `sources` resolves links to conversations and messages; `there` holds the keys of facts that a fact
    may link to as superseded.
    """

    def __init__(self, plan: FactPlan, sources: FactSources, there: Collection[UUID]) -> None:
        self._plan, self._sources, self._there = plan, sources, there

    def build_fact(self, given: ImportedFact) -> Fact:
        """Return the unsaved row of a new fact."""
        plan = self._plan
        return Fact(pk=plan.keys[given.id], owner=plan.owner, **self.build_columns(given))

    def build_columns(self, given: ImportedFact) -> dict[str, Any]:
        """Return a fact's column values from the file."""
        plan, sources = self._plan, self._sources
        columns = {name: getattr(given, name) for name in ImportedFact.model_fields if name not in _EXCLUDED}
        older = plan.keys.get(given.supersedes) if given.supersedes else None
        return columns | {
            "text": self._redact(given.text),
            "quote": self._redact(given.quote),
            "pinned": given.pinned and is_live(given) and given.id not in plan.unpinned | plan.archived,
            "heard_once": given.heard_once and given.archived_at is not None,
            "source_conversation_id": sources.find_conversation(given.source_conversation),
            "source_message_id": sources.find_message(given.source_message),
            "last_seen_conversation_id": sources.find_conversation(_get_last_conversation(given)),
            "supersedes_id": older if older in self._there else None,
        }

    def build_events(self, given: ImportedFact) -> list[FactEvent]:
        """Return the unsaved events of a fact that are not here yet."""
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
                        source_message_id=self._sources.find_message(event.source_message),
                        created_at=event.created_at,
                    )
                )
        return rows

    def _event_key(self, key: UUID, fact: ImportedFact, number: int) -> UUID:
        given = fact.history[number].id
        if given is None or key != fact.id or given in self._plan.foreign:
            return derive_id(self._plan.owner, given or fact.id, key, number)
        return given

    def _state(self, state: dict[str, Any], at: Any) -> dict[str, Any]:
        text = state.get("text")
        if text is None:
            return state
        if self._plan.tombstones.is_deleted(text, at):
            return {name: value for name, value in state.items() if name != "text"}
        return {**state, "text": self._redact(text)}

    def _redact(self, text: str) -> str:
        return redact_secrets(text) if self._plan.redacts and text else text


class FactSources:
    """Maps the conversations and messages that facts name as sources to keys here, in a few queries."""

    def __init__(self, owner: User, facts: Sequence[ImportedFact], chats: ChatImporter) -> None:
        self._chats = chats
        messages = {key for f in facts for key in (f.source_message, *(e.source_message for e in f.history))}
        wanted = {self._message(key) for key in messages if key is not None}
        mine = Message.objects.for_owner(owner)
        self._messages = {pk for (pk,) in fetch_columns(mine, "pk", wanted, "pk")}
        pairs = [(fact.source_conversation, fact.last_seen_conversation) for fact in facts]
        chosen = {key for pair in pairs for key in pair if key is not None}
        chosen_keys = {chats.keys.get(key, key) for key in chosen}
        rows = Conversation.objects.for_owner(owner)
        self._conversations = {pk for (pk,) in fetch_columns(rows, "pk", chosen_keys, "pk")}

    def find_conversation(self, key: UUID | None) -> UUID | None:
        """Return the key of the conversation here, or None."""
        local_key = self._chats.keys.get(key, key) if key else None
        return local_key if local_key in self._conversations else None

    def find_message(self, key: UUID | None) -> UUID | None:
        """Return the key of the message here, or None."""
        local_key = self._message(key) if key else None
        return local_key if local_key in self._messages else None

    def _message(self, key: UUID) -> UUID:
        return self._chats.messages.get(key, key)


def _get_last_conversation(given: ImportedFact) -> UUID | None:
    if "last_seen_conversation" in given.model_fields_set:
        return given.last_seen_conversation
    # Files of older versions and of other programs name the first conversation only.
    return given.source_conversation


def add_relationships(
    owner: User, given: ImportedGraph, facts: dict[UUID, UUID], new: set[UUID], archived: Collection[UUID]
) -> set[UUID]:
    """Write the relationships of new facts and their entities; in the caller's transaction.

    `facts` maps the file's ids to keys here. Relationships of facts in `over` are written as invalid.
    Returns the new facts without a relationship in the file: the graph must parse their text.
    """
    relationships = [relationship for relationship in given.relationships if relationship.source_fact in new]
    ends = {
        key
        for relationship in relationships
        for key in (relationship.source, relationship.target)
        if key is not None
    }
    entities = [entity for entity in given.entities if entity.id in ends]
    keys = _entities(owner, entities)
    complete = [
        relationship
        for relationship in relationships
        if relationship.target in keys and (relationship.source is None or relationship.source in keys)
    ]
    own = map_to_owner_ids(Relationship, owner, [relationship.id for relationship in complete])
    there = {pk for (pk,) in fetch_columns(Relationship.objects.all(), "pk", own.values(), "pk")}
    Relationship.objects.bulk_create(
        Relationship(
            pk=own[relationship.id],
            owner=owner,
            source_id=keys[relationship.source] if relationship.source else None,
            target_id=keys[relationship.target],
            relation=relationship.relation,
            valid=relationship.valid and relationship.source_fact not in archived,
            source_fact_id=facts[relationship.source_fact],
            created_at=relationship.created_at,
        )
        for relationship in complete
        if own[relationship.id] not in there
    )
    return new - {relationship.source_fact for relationship in complete}


def _entities(owner: User, entities: Any) -> dict[UUID, UUID]:
    """Return the keys here by the file's ids; creates the entities whose name does not exist here."""
    own = map_to_owner_ids(Entity, owner, [entity.id for entity in entities])
    named = {entity.id: normalize_text(entity.name)[:_LONGEST] for entity in entities}
    names = set(named.values())
    known = dict(fetch_columns(Entity.objects.for_owner(owner), "key", names, "key", "pk"))
    taken = {pk for (pk,) in fetch_columns(Entity.objects.all(), "pk", own.values(), "pk")}
    fresh = []
    for entity in entities:
        name = named[entity.id]
        if name and name not in known and own[entity.id] not in taken:
            known[name] = own[entity.id]
            fresh.append(
                Entity(
                    pk=own[entity.id],
                    owner=owner,
                    name=entity.name,
                    key=name,
                    type=entity.type,
                    created_at=entity.created_at,
                )
            )
    Entity.objects.bulk_create(fresh)
    return {key: known[name] for key, name in named.items() if name in known}
