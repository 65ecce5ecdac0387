"""What of a fact goes over the wire, and what changes with it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field

from chat.actions import guard
from chat.models import Category, Fact

from .common import Body, Flag


class FactOut(Schema):
    """One sentence known about the owner; `quote` are the words that it came from."""

    id: UUID
    text: str
    category: Category
    kind: str
    subject: str
    state: Literal["live", "superseded", "archived"]
    pinned: bool
    confidence: float = Field(ge=0, le=1)
    mention_count: int
    origin: str = Field(description="extracted, told, manual or highlight")
    quote: str
    language: str
    first_seen: datetime
    last_seen: datetime
    last_used: datetime
    conversation: UUID | None
    message: UUID | None
    supersedes: UUID | None
    version: int
    etag: str = Field(description="Send it as `If-Match` to change what you have read.")


class FactIn(Body):
    """A fact in the owner's words; its category and kind are found from them."""

    text: str = Field(min_length=1, max_length=2000, examples=["I bake sourdough on Sundays."])
    origin: Literal["manual", "told"] = Field(
        default="manual", description="`told` where the owner asked for it with “Remember that …”: surer."
    )


class FactPatch(Body):
    """What is to change; what is left out stays."""

    text: str | None = Field(default=None, min_length=1, max_length=2000)
    category: Category | None = None
    pinned: Flag | None = None


class EventOut(Schema):
    """One thing that happened to a fact, or to one that it replaced; `text` is what it said then."""

    id: UUID
    fact: UUID
    kind: str
    text: str | None
    category: str | None
    actor: str = Field(description="user, memory or system")
    reason: str
    message: UUID | None
    created_at: datetime


class RestoreIn(Body):
    """The point of a fact's history to go back to."""

    event: UUID


def fact_mark(fact: Fact) -> str:
    """Return what changes with everything of a fact that can be edited."""
    return guard.mark(fact.pk, fact.version, fact.text, fact.category, fact.kind, fact.pinned)


def fact_out(fact: Fact) -> FactOut:
    """Tell a fact that came with its source conversation."""
    source = fact.source_conversation
    from_chat = source is not None and source.deletion_id is None
    return FactOut(
        id=fact.pk,
        text=fact.text,
        category=Category(fact.category),
        kind=fact.kind,
        subject=fact.subject,
        state="superseded" if fact.superseded_at else "archived" if fact.archived_at else "live",
        pinned=fact.pinned,
        confidence=fact.confidence,
        mention_count=fact.mention_count,
        origin=fact.origin,
        quote=fact.quote,
        language=fact.language,
        first_seen=fact.first_seen,
        last_seen=fact.last_seen,
        last_used=fact.last_used,
        conversation=fact.source_conversation_id if from_chat else None,
        message=fact.source_message_id if from_chat else None,
        supersedes=fact.supersedes_id,
        version=fact.version,
        etag=fact_mark(fact),
    )
