"""What is on its way out, and undo."""

from __future__ import annotations

from uuid import UUID

from ninja import Router, Schema

from chat.actions import deletions
from chat.views.scope import own_deletion

from .common import DeletionOut, Request, deletion_out, responses

router = Router(tags=["deletions"])


class UndoneOut(Schema):
    """What an undo brought back: facts as they were, one with what was learned meanwhile, or superseded."""

    detail: str
    returned: list[UUID]
    merged: list[UUID]
    superseded: list[UUID]
    app_memories: int
    conversation: UUID | None


@router.get("/{deletion_id}", response=DeletionOut)
def get_deletion(request: Request, deletion_id: UUID) -> DeletionOut:
    """Tell how far a deletion is."""
    return deletion_out(own_deletion(request, deletion_id))


@router.post("/{deletion_id}/undo", response=UndoneOut, url_name="undo", openapi_extra=responses(409))
def undo_deletion(request: Request, deletion_id: UUID) -> UndoneOut:
    """Bring back what is on its way out, while its deadline lasts."""
    undone = deletions.undo(own_deletion(request, deletion_id))
    return UndoneOut(
        detail=undone.sentence,
        returned=[fact.pk for fact in undone.returned],
        merged=[fact.pk for fact in undone.merged],
        superseded=[fact.pk for fact in undone.superseded],
        app_memories=undone.app_memories,
        conversation=undone.conversation.pk if undone.conversation else None,
    )
