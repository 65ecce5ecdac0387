"""What memory found in the messages of a conversation, and the facts in a text that is not stored."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from ninja import Router, Schema
from pydantic import Field

from chat.access import own_conversation
from chat.actions.text_extraction import extract_from_text
from chat.error_messages import describe
from chat.memory.confidence import INITIAL_EXTRACTED, get_initial_confidence
from chat.memory.kinds import ExtractionType, get_extraction_type
from chat.models import ExtractionRun, FactEvent, Origin

from .common import ApiRequest, Body, Limit, Offset, Page, paginate, problem_responses

router = Router(tags=["extraction"])
of_conversation = Router(tags=["extraction"])
_MAX_CHARACTERS = 20_000
_MAX_QUESTION_CHARACTERS = 2_000


class FoundFactOut(Schema):
    """A fact in the words in which it was stored."""

    fact: str
    type: ExtractionType = Field(description="A habit is a pattern, current work is context.")
    confidence: float = Field(ge=0, le=1)


class RefusedFactOut(Schema):
    """A statement that is no fact to remember, and why."""

    fact: str
    reason: str


class FoundOut(Schema):
    """The facts in a text; `error` says why the model's answer could not be used, "" where it could."""

    facts: list[FoundFactOut]
    refused: list[RefusedFactOut]
    error: str


class ExtractionOut(FoundOut):
    """What memory found in one message, without facts that were deleted since."""

    message: UUID
    read: bool = Field(description="False: nothing in the message was worth asking the model about.")
    stored: int
    reinforced: int = Field(description="Facts that were known already.")
    ended: int = Field(description="Facts of which the message says that they are over.")
    seconds: float
    created_at: datetime


class ExtractIn(Body):
    """A text in the first person, as a user would write it in a message."""

    text: str = Field(
        min_length=1, max_length=_MAX_CHARACTERS, examples=["I'm building Selene for ADHD management."]
    )
    question: str = Field(
        default="",
        max_length=_MAX_QUESTION_CHARACTERS,
        description="What the assistant asked before; it gives a short answer its meaning.",
    )


@of_conversation.get("/{conversation_id}/extractions", response=Page[ExtractionOut])
def list_extractions(
    request: ApiRequest, conversation_id: UUID, limit: Limit = 20, offset: Offset = 0
) -> Page[ExtractionOut]:
    """List what memory found in the messages of a conversation, the oldest first."""
    found = own_conversation(request, conversation_id)
    rows = ExtractionRun.objects.for_owner(request.auth).filter(message__conversation=found)
    page = paginate(request, rows.order_by("message__seq", "pk"), lambda run: run, limit, offset)
    facts = _load_found_facts(request, [run.message_id for run in page.items])
    return Page[ExtractionOut](
        items=[_build_extraction(run, facts.get(run.message_id, {}).values()) for run in page.items],
        total=page.total,
        next=page.next,
    )


@router.post("/extract", response=FoundOut, openapi_extra=problem_responses(503))
def extract_text(request: ApiRequest, body: ExtractIn) -> FoundOut:
    """Return the facts in a text without storing anything; waits for the model up to two minutes."""
    found = extract_from_text(request.auth, body.text, body.question)
    return FoundOut(
        facts=[
            FoundFactOut(
                fact=candidate.text,
                type=get_extraction_type(candidate.kind),
                confidence=get_initial_confidence(Origin.TOLD if candidate.explicit else Origin.EXTRACTED),
            )
            for candidate in found.candidates
        ],
        refused=[RefusedFactOut(fact=r.text, reason=describe(r.reason)) for r in found.refused],
        error=describe(found.error),
    )


def _load_found_facts(request: ApiRequest, messages: list[UUID]) -> dict[Any, dict[UUID, FoundFactOut]]:
    """Return the facts found in these messages, by message and by fact; one query."""
    facts: dict[Any, dict[UUID, FoundFactOut]] = {}
    for event in FactEvent.objects.for_owner(request.auth).found_in(messages):
        # A text that was erased is missing.
        if "text" in event.after:
            facts.setdefault(event.source_message_id, {})[event.fact_id] = FoundFactOut(
                fact=event.after["text"],
                type=get_extraction_type(event.after["kind"]),
                # A file of another program may leave it out.
                confidence=event.after.get("confidence", INITIAL_EXTRACTED),
            )
    return facts


def _build_extraction(run: ExtractionRun, facts: Iterable[FoundFactOut]) -> ExtractionOut:
    return ExtractionOut(
        facts=list(facts),
        refused=[RefusedFactOut(fact=r["text"], reason=describe(r["reason"])) for r in run.refused],
        error=describe(run.error),
        message=run.message_id,
        read=run.read,
        stored=run.stored,
        reinforced=run.reinforced,
        ended=run.ended,
        seconds=run.seconds,
        created_at=run.created_at,
    )
