"""What memory did about requests in the messages of a conversation: what it forgot, asks, or could not do."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Prefetch
from ninja import Router, Schema
from pydantic import Field

from chat.access import own_conversation
from chat.models import Conversation, Deletion, DeletionState, Fact, RequestOutcome

from .common import ApiRequest
from .deletions import DeletionOut, build_deletion

router = Router(tags=["extraction"])


class MeantFactOut(Schema):
    """A fact that a request means or may mean."""

    id: UUID
    text: str


class RequestOut(Schema):
    """What came of a request; a deletion that is final or undone is not listed."""

    id: UUID
    message: UUID | None
    outcome: str = Field(
        description="forgotten, unclear, many, nothing or off. unclear, many: the page asks which of `facts` "
        "to forget. off: the conversation does not change memory."
    )
    facts: list[MeantFactOut]
    deletion: DeletionOut | None = None


@router.get("/{conversation_id}/requests", response=list[RequestOut])
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
