"""What a file of ours holds, checked: the same columns that the export writes, in the same words.

Columns that came later have a value for older files. Other programs' files are read into these shapes too.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from chat.memory.kinds import KINDS
from chat.models import MAX_CONTENT, Category, EntityType, FactEventKind, MemoryMode, MessageState, Origin
from chat.models import Role as SpokenBy
from chat.models import Strategy as Manner
from chat.models import TitledBy as Titler

from .columns import LARGEST, JsonObject, Key, Moment, Place, Shape, Share, Whole, one_of


class SettingsIn(Shape):
    """What an owner chose; what this machine does not know is left out when it is taken over."""

    time_zone: str = Field("", max_length=60)
    language: str = Field("", max_length=10)
    theme: str = Field("", max_length=10)
    look_after: Whole | None = None
    redact_secrets: bool = True
    prune_after: Whole = 0
    faded_through: date | None = None


class TellingIn(Shape):
    """What an app memory tells of itself."""

    importance: float = Field(0, ge=0, le=10)
    tags: list[str] = []
    related_conversations: list[UUID] = []
    through: Whole = 0


class StateIn(Shape):
    """How a fact was before or after an event; one with its words can be gone back to, and needs the rest."""

    text: str = Field("", min_length=1, max_length=300)
    category: one_of(Category.values) = ""  # type: ignore[valid-type]
    kind: one_of(KINDS) = ""  # type: ignore[valid-type]
    subject: str = Field("", max_length=80)
    confidence: Share = 0.0
    mention_count: Whole = 0
    pinned: bool = False


def _told(value: JsonObject) -> JsonObject:
    return _as(TellingIn, value)


def _state(value: JsonObject) -> JsonObject:
    if "text" in value:
        for name in ("category", "kind", "subject"):
            if name not in value:
                raise ValueError(name)
    return _as(StateIn, value)


def _as(shape: type[Shape], value: JsonObject) -> JsonObject:
    """Return what a shape knows of an object, in the object's own order, once it is right."""
    shape.model_validate(value)
    return {name: found for name, found in value.items() if name in shape.model_fields}


class AppMemoryIn(Shape):
    """What an app remembers of a conversation."""

    id: UUID
    content: str = Field(min_length=1, max_length=MAX_CONTENT)
    metadata: Annotated[JsonObject, AfterValidator(_told)] = {}
    edited: bool = False
    source_conversation: UUID | None = None
    created_at: Moment
    updated_at: Moment


class AppIn(Shape):
    """An app with its memories."""

    id: UUID
    slug: str = Field(min_length=1, max_length=60, pattern=r"^[-a-zA-Z0-9_]+$")
    name: str = Field(min_length=1, max_length=80)
    persona: str = Field("", max_length=4000)
    strategy: one_of(Manner.values) = Manner.HYBRID  # type: ignore[valid-type]
    created_at: Moment
    archived_at: Moment | None = None
    memories: list[AppMemoryIn] = []


class ReportIn(Shape):
    """What a reply's prompt was made of."""

    sections: dict[str, Whole] = {}
    facts: list[Key] = []
    left_out: list[Key] = []
    cut_messages: Whole = 0
    stage: Annotated[int, Field(ge=0, le=3)] = 0
    shortened: bool = False
    prompt_tokens: Whole = 0
    cached_tokens: Whole = 0
    completion_tokens: Whole = 0
    window: Whole = 0
    first_token_ms: Whole | None = None
    created_at: Moment


class MessageIn(Shape):
    """One message; what it refers to lies in the same conversation."""

    id: UUID
    seq: Whole
    role: one_of(SpokenBy.values)  # type: ignore[valid-type]
    content: str = ""
    state: one_of(MessageState.values) = MessageState.COMPLETE  # type: ignore[valid-type]
    failure: str = Field("", max_length=300)
    note: str = ""
    flagged: bool = False
    topic: UUID | None = None
    replaced_by: UUID | None = None
    tool_calls: list[JsonObject] | None = None
    tool_call_id: str = Field("", max_length=120)
    name: str = Field("", max_length=120)
    created_at: Moment
    # Nobody knows when it was said; the moment above is one to show.
    undated: bool = False
    report: ReportIn | None = None


class TopicIn(Shape):
    """A topic; its archives lie unpacked in the messages."""

    id: UUID
    title: str = Field("", max_length=80)
    summary: str = ""
    summarised_through: Whole = 0
    importance: Share = 1.0
    access_count: Whole = 0
    message_count: Whole = 0
    created_at: Moment
    last_active_at: Moment
    retired_at: Moment | None = None


class ConversationIn(Shape):
    """A conversation with its topics and messages; without a watermark all of it counts as read."""

    id: UUID
    # None stands in the owner's first app.
    app: UUID | None = None
    title: str = Field("", max_length=120)
    titled_by: one_of(Titler.values) = Titler.OPENING  # type: ignore[valid-type]
    system_prompt: str = ""
    strategy: one_of(["", *Manner.values]) = ""  # type: ignore[valid-type]
    metadata: JsonObject = {}
    pinned: bool = False
    memory_mode: one_of(MemoryMode.values) = MemoryMode.ON  # type: ignore[valid-type]
    summary: str = ""
    summarised_through: Whole = 0
    prompt_summary: str = ""
    trimmed_through: Whole = 0
    kept: list[Whole] = []
    cuts: dict[Place, Whole] = {}
    cleared_through: Whole = 0
    extracted_through: Whole | None = None
    app_memory_after: Whole | None = None
    created_at: Moment
    updated_at: Moment
    ended_at: Moment | None = None
    topics: list[TopicIn] = []
    messages: list[MessageIn] = []


class EventIn(Shape):
    """One line of a fact's history; older files have no key of it."""

    id: UUID | None = None
    kind: one_of(FactEventKind.values)  # type: ignore[valid-type]
    before: Annotated[JsonObject, AfterValidator(_state)] = {}
    after: Annotated[JsonObject, AfterValidator(_state)] = {}
    actor: str = Field(max_length=20)
    reason: str = Field("", max_length=200)
    source_message: UUID | None = None
    created_at: Moment


class FactIn(Shape):
    """A fact with its history."""

    id: UUID
    text: str = Field(min_length=1, max_length=300)
    category: one_of(Category.values)  # type: ignore[valid-type]
    kind: one_of(KINDS)  # type: ignore[valid-type]
    subject: str = Field("", max_length=80)
    confidence: Share
    mention_count: Annotated[int, Field(ge=1, le=LARGEST)] = 1
    pinned: bool = False
    origin: one_of(Origin.values) = Origin.MANUAL  # type: ignore[valid-type]
    quote: str = ""
    language: str = Field("", max_length=8)
    source_conversation: UUID | None = None
    source_message: UUID | None = None
    supersedes: UUID | None = None
    first_seen: Moment
    last_seen: Moment
    last_used: Moment
    # Nobody knows when it was said; the moments above are some to show.
    undated: bool = False
    idle_days: Whole = 0
    superseded_at: Moment | None = None
    archived_at: Moment | None = None
    version: Annotated[int, Field(ge=1, le=LARGEST)] = 1
    history: list[EventIn] = []

    @property
    def said_at(self) -> datetime | None:
        """When it was last said, None where nobody knows."""
        return None if self.undated else self.last_seen


class EntityIn(Shape):
    """Something that facts speak of."""

    id: UUID
    name: str = Field(min_length=1, max_length=120)
    type: one_of(EntityType.values)  # type: ignore[valid-type]
    created_at: Moment


class RelationshipIn(Shape):
    """A tie between two entities, or the owner's to one."""

    id: UUID
    source: UUID | None = None
    target: UUID
    relation: str = Field(min_length=1, max_length=30)
    valid: bool = True
    source_fact: UUID
    created_at: Moment


class GraphIn(Shape):
    """What facts tie together."""

    entities: list[EntityIn] = []
    relationships: list[RelationshipIn] = []
