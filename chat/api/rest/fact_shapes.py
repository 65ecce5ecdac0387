"""The schemas of facts and of their history."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal
from uuid import UUID

from ninja import Schema
from pydantic import Field

from chat.actions import optimistic_lock
from chat.models import Category, Fact

from .common import Body, Flag

FactState = Literal["live", "superseded", "archived", "heard_once"]


class FactOut(Schema):
    """A fact about the owner; `quote` is the text that it was extracted from."""

    id: UUID
    text: str
    category: Category
    kind: str
    subject: str
    state: FactState
    pinned: bool
    confidence: float = Field(ge=0, le=1)
    mention_count: int
    origin: str = Field(description="extracted, told, manual or highlight")
    quote: str
    language: str
    first_seen: datetime
    last_seen: datetime
    last_used: datetime
    holds_from: date | None = Field(description="The day from which the fact holds, where it says so.")
    holds_until: date | None = Field(description="The day after which the fact is over and archived.")
    said_on: date | None = Field(description="The day on which its age or duration was said.")
    conversation: UUID | None = Field(description="The conversation of the first mention.")
    message: UUID | None = Field(description="The message of the first mention.")
    last_seen_conversation: UUID | None = Field(description="The conversation of the last mention.")
    supersedes: UUID | None
    version: int
    etag: str = Field(description="Send it as `If-Match` to change what you have read.")


class FactIn(Body):
    """A new fact in the owner's words; category and kind are derived from the text."""

    text: str = Field(min_length=1, max_length=2000, examples=["I bake sourdough on Sundays."])
    origin: Literal["manual", "told"] = Field(
        default="manual",
        description="`told` where the owner asked to remember it: it gets a higher confidence.",
    )


class FactPatch(Body):
    """The members to change; the others stay."""

    text: str | None = Field(default=None, min_length=1, max_length=2000)
    category: Category | None = None
    pinned: Flag | None = None


class EventOut(Schema):
    """An event of a fact or of one that it superseded; `text` is the text after the event."""

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
    """The event of the fact's history to restore."""

    event: UUID


def fact_etag(fact: Fact) -> str:
    """Return the etag of a fact; it changes with every editable member."""
    return optimistic_lock.fingerprint(
        fact.pk, fact.version, fact.text, fact.category, fact.kind, fact.pinned
    )


def _get_state(fact: Fact) -> FactState:
    if fact.superseded_at:
        return "superseded"
    if fact.archived_at:
        return "heard_once" if fact.heard_once else "archived"
    return "live"


def build_fact(fact: Fact) -> FactOut:
    """Return a fact as clients see it; its conversations must be loaded: a deleted one is not named."""
    source, last = fact.source_conversation, fact.last_seen_conversation
    has_source = source is not None and source.deletion_id is None
    return FactOut(
        id=fact.pk,
        text=fact.text,
        category=Category(fact.category),
        kind=fact.kind,
        subject=fact.subject,
        state=_get_state(fact),
        pinned=fact.pinned,
        confidence=fact.confidence,
        mention_count=fact.mention_count,
        origin=fact.origin,
        quote=fact.quote,
        language=fact.language,
        first_seen=fact.first_seen,
        last_seen=fact.last_seen,
        last_used=fact.last_used,
        holds_from=fact.holds_from,
        holds_until=fact.holds_until,
        said_on=fact.said_on,
        conversation=fact.source_conversation_id if has_source else None,
        message=fact.source_message_id if has_source else None,
        last_seen_conversation=last.pk if last is not None and last.deletion_id is None else None,
        supersedes=fact.supersedes_id,
        version=fact.version,
        etag=fact_etag(fact),
    )
