"""What memory found in the messages of a conversation and did about the requests in them.

Also the facts in a text that is not stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Prefetch
from ninja import Router, Schema
from pydantic import Field

from chat.access import own_conversation
from chat.actions.quotas import count_message
from chat.actions.text_extraction import extract_from_text
from chat.error_messages import describe
from chat.memory.confidence import INITIAL_EXTRACTED, get_initial_confidence
from chat.memory.kinds import ExtractionType, get_extraction_type
from chat.models import (
    Conversation,
    Deletion,
    DeletionState,
    ExtractionRun,
    Fact,
    FactEvent,
    Origin,
    RequestOutcome,
)

from .common import ApiRequest, Body, Limit, Offset, Page, paginate, problem_responses, render, render_slowly
from .deletions import DeletionOut, build_deletion

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


@router.post("/extract", response=FoundOut, openapi_extra=problem_responses(429, 503))
def extract_text(request: ApiRequest, body: ExtractIn) -> Any:
    """Return the facts in a text without storing anything; waits for the model up to two minutes."""
    return render_slowly(request, lambda: render(_find_facts(request, body)))


def _find_facts(request: ApiRequest, body: ExtractIn) -> FoundOut:
    with count_message(request.auth):
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


requests_of_conversation = Router(tags=["extraction"])


class MeantFactOut(Schema):
    """A fact that a request means or may mean."""

    id: UUID
    text: str


class RequestOut(Schema):
    """The result of a request to memory. Deletions that are final or undone are not listed."""

    id: UUID
    message: UUID | None
    outcome: str = Field(
        description="forgotten, unclear, many, nothing or off. unclear, many: the page asks which of `facts` "
        "to forget. off: the conversation does not change memory."
    )
    facts: list[MeantFactOut]
    deletion: DeletionOut | None = None


@requests_of_conversation.get("/{conversation_id}/requests", response=list[RequestOut])
def list_requests(request: ApiRequest, conversation_id: UUID) -> list[RequestOut]:
    """List what memory did about "forget …" and other requests in a conversation, the oldest first."""
    found = own_conversation(request, conversation_id)
    listed = [*_list_forgotten(found), *_list_outcomes(found)]
    return [out for _, out in sorted(listed, key=lambda pair: pair[0])]


def _list_forgotten(conversation: Conversation) -> list[tuple[float, RequestOut]]:
    rows = Deletion.objects.for_owner(conversation.owner).filter(
        message__conversation=conversation, state=DeletionState.PENDING, retraction__isnull=True
    )
    return [
        (
            row.pressed_at.timestamp(),
            RequestOut(
                id=row.pk,
                message=row.message_id,
                outcome="forgotten",
                facts=_build_facts([fact for fact in row.facts.all() if fact.superseded_at is None]),
                deletion=build_deletion(row),
            ),
        )
        for row in rows.prefetch_related("facts")
    ]


def _list_outcomes(conversation: Conversation) -> list[tuple[float, RequestOut]]:
    live = Prefetch("candidates", Fact.objects.live().order_by("first_seen", "pk"))
    rows = RequestOutcome.objects.for_owner(conversation.owner).filter(
        message__conversation=conversation, answered_at__isnull=True
    )
    return [
        (
            row.created_at.timestamp(),
            RequestOut(
                id=row.pk,
                message=row.message_id,
                outcome=row.kind,
                facts=_build_facts(list(row.candidates.all())),
            ),
        )
        for row in rows.prefetch_related(live)
    ]


def _build_facts(facts: list[Fact]) -> list[MeantFactOut]:
    return [MeantFactOut(id=fact.pk, text=fact.text) for fact in facts]
