"""The shapes of an export file, validated: the same columns and names that the export writes.

Columns that were added later have defaults, so that older files can be read. Files of other programs are
converted to these shapes too.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from chat.memory.kinds import KINDS
from chat.models import MAX_CONTENT, Category, EntityType, FactEventKind, MemoryMode, MessageState, Origin
from chat.models import Role as MessageRole
from chat.models import Strategy as PromptStrategy
from chat.models import TitledBy as TitleSource

from .parts import LARGEST, FileShape, JsonObject, Key, Moment, Place, Share, Whole, literal_of


class ImportedSettings(FileShape):
    """The settings of an owner; values that this installation does not support are ignored by the import."""

    time_zone: str = Field("", max_length=60)
    language: str = Field("", max_length=10)
    theme: str = Field("", max_length=10)
    look_after: Whole | None = None
    redact_secrets: bool = True
    use_past_chats: bool = True
    send_past_chats: bool = False
    offer_past_chats: bool = False
    prune_after: Whole = 0
    faded_through: date | None = None


class ImportedAppMemoryMetadata(FileShape):
    """The metadata of an app memory."""

    importance: float = Field(0, ge=0, le=10)
    tags: list[str] = []
    related_conversations: list[UUID] = []
    through: Whole = 0


class ImportedFactState(FileShape):
    """The state of a fact before or after an event.

    One with a text can be restored, so it needs category, kind and subject.
    """

    text: str = Field("", min_length=1, max_length=300)
    category: literal_of(Category.values) = ""  # type: ignore[valid-type]
    kind: literal_of(KINDS) = ""  # type: ignore[valid-type]
    subject: str = Field("", max_length=80)
    confidence: Share = 0.0
    mention_count: Whole = 0
    pinned: bool = False
    holds_from: date | None = None
    holds_until: date | None = None
    said_on: date | None = None


def _validate_metadata(value: JsonObject) -> JsonObject:
    return _validate_as(ImportedAppMemoryMetadata, value)


def _validate_state(value: JsonObject) -> JsonObject:
    if "text" in value:
        for name in ("category", "kind", "subject"):
            if name not in value:
                raise ValueError(name)
    return _validate_as(ImportedFactState, value)


def _validate_as(shape: type[FileShape], value: JsonObject) -> JsonObject:
    """Return the members that the shape knows, in the object's order, after validating them."""
    shape.model_validate(value)
    return {name: found for name, found in value.items() if name in shape.model_fields}


class ImportedAppMemory(FileShape):
    """An app memory."""

    id: UUID
    content: str = Field(min_length=1, max_length=MAX_CONTENT)
    metadata: Annotated[JsonObject, AfterValidator(_validate_metadata)] = {}
    edited: bool = False
    source_conversation: UUID | None = None
    created_at: Moment
    updated_at: Moment


class ImportedApp(FileShape):
    """An app with its memories."""

    id: UUID
    slug: str = Field(min_length=1, max_length=60, pattern=r"^[-a-zA-Z0-9_]+$")
    name: str = Field(min_length=1, max_length=80)
    persona: str = Field("", max_length=4000)
    strategy: literal_of(PromptStrategy.values) = PromptStrategy.HYBRID  # type: ignore[valid-type]
    created_at: Moment
    archived_at: Moment | None = None
    memories: list[ImportedAppMemory] = []


class ImportedPromptReport(FileShape):
    """The prompt report of a reply."""

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


class ImportedMessage(FileShape):
    """One message. Its topic and replacement are in the same conversation."""

    id: UUID
    seq: Whole
    role: literal_of(MessageRole.values)  # type: ignore[valid-type]
    content: str = ""
    state: literal_of(MessageState.values) = MessageState.COMPLETE  # type: ignore[valid-type]
    failure: str = Field("", max_length=300)
    cut_off: bool = False
    note: str = ""
    flagged: bool = False
    importance: Share | None = None
    # Parts of the content that memory does not use, as (start, end).
    kept_out: list[tuple[Whole, Whole]] = []
    topic: UUID | None = None
    replaced_by: UUID | None = None
    tool_calls: list[JsonObject] | None = None
    tool_call_id: str = Field("", max_length=120)
    name: str = Field("", max_length=120)
    created_at: Moment
    # True: the date is unknown; `created_at` is a placeholder for display.
    undated: bool = False
    # True: the message had no date of its own where it was written.
    date_inferred: bool | None = None
    report: ImportedPromptReport | None = None


class ImportedTopic(FileShape):
    """A topic. The contents of its archives are in the messages."""

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


class ImportedConversation(FileShape):
    """A conversation with its topics and messages.

    Where `extracted_through` is None, all messages count as extracted.
    """

    id: UUID
    # None: the owner's first app.
    app: UUID | None = None
    title: str = Field("", max_length=120)
    titled_by: literal_of(TitleSource.values) = TitleSource.OPENING  # type: ignore[valid-type]
    system_prompt: str = ""
    strategy: literal_of(["", *PromptStrategy.values]) = ""  # type: ignore[valid-type]
    metadata: JsonObject = {}
    pinned: bool = False
    memory_mode: literal_of(MemoryMode.values) = MemoryMode.ON  # type: ignore[valid-type]
    use_past_chats: bool = True
    use_reasoning: bool = False
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
    topics: list[ImportedTopic] = []
    messages: list[ImportedMessage] = []


class ImportedFactEvent(FileShape):
    """One entry of a fact's history; older files have no id for it."""

    id: UUID | None = None
    kind: literal_of(FactEventKind.values)  # type: ignore[valid-type]
    before: Annotated[JsonObject, AfterValidator(_validate_state)] = {}
    after: Annotated[JsonObject, AfterValidator(_validate_state)] = {}
    actor: str = Field(max_length=20)
    reason: str = Field("", max_length=200)
    source_message: UUID | None = None
    created_at: Moment


class ImportedFact(FileShape):
    """A fact with its history."""

    id: UUID
    text: str = Field(min_length=1, max_length=300)
    category: literal_of(Category.values)  # type: ignore[valid-type]
    kind: literal_of(KINDS)  # type: ignore[valid-type]
    subject: str = Field("", max_length=80)
    confidence: Share
    mention_count: Annotated[int, Field(ge=1, le=LARGEST)] = 1
    pinned: bool = False
    origin: literal_of(Origin.values) = Origin.MANUAL  # type: ignore[valid-type]
    quote: str = ""
    language: str = Field("", max_length=8)
    source_conversation: UUID | None = None
    source_message: UUID | None = None
    supersedes: UUID | None = None
    first_seen: Moment
    last_seen: Moment
    last_seen_conversation: UUID | None = None
    last_used: Moment
    # True: the dates are unknown; those above are placeholders for display.
    undated: bool = False
    idle_days: Whole = 0
    holds_from: date | None = None
    holds_until: date | None = None
    said_on: date | None = None
    superseded_at: Moment | None = None
    archived_at: Moment | None = None
    heard_once: bool = False
    version: Annotated[int, Field(ge=1, le=LARGEST)] = 1
    history: list[ImportedFactEvent] = []

    @property
    def said_at(self) -> datetime | None:
        """When the fact was last mentioned, None where that is unknown."""
        return None if self.undated else self.last_seen


class ImportedEntity(FileShape):
    """An entity of the graph."""

    id: UUID
    name: str = Field(min_length=1, max_length=120)
    type: literal_of(EntityType.values)  # type: ignore[valid-type]
    created_at: Moment


class ImportedRelationship(FileShape):
    """A relationship between two entities; `source` None is the owner."""

    id: UUID
    source: UUID | None = None
    target: UUID
    relation: str = Field(min_length=1, max_length=30)
    valid: bool = True
    source_fact: UUID
    created_at: Moment


class ImportedGraph(FileShape):
    """The entity graph."""

    entities: list[ImportedEntity] = []
    relationships: list[ImportedRelationship] = []
