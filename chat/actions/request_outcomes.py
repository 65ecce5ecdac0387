"""Records what memory did about requests such as "forget my age", and applies the owner's answers.

The page shows the outcome in a line under the reply. Where it is unclear which fact is meant, the line asks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from chat.errors import Refused
from chat.memory.mask import mask_foreign_text
from chat.memory.memory_requests import MemoryRequest, RequestKind, find_requests
from chat.models import Deletion, DeletionState, Fact, Message, OutcomeKind, RequestOutcome

from . import deletions, events
from .owners import lock_memory

# A chat that does not change memory says below the reply that a request of these kinds did nothing.
_CHANGING = (RequestKind.REMEMBER, RequestKind.FORGET)


def find_live_requests(text: str) -> list[MemoryRequest]:
    """Return the requests in a user's message, without those in quoted or pasted text.

    May embed sentences: call it outside transactions.
    """
    return find_requests(mask_foreign_text(text))


def record_outcomes(message: Message, found: Sequence[tuple[OutcomeKind, Sequence[Fact]]]) -> None:
    """Store what came of the requests in a message, in place of what was stored for it before.

    A repeated extraction finds nothing any more where the first one deleted facts; that is not told.
    """
    with transaction.atomic():
        RequestOutcome.objects.filter(message=message).delete()
        done = Deletion.objects.filter(message=message).exclude(state=DeletionState.UNDONE).exists()
        for kind, candidates in found:
            if kind is OutcomeKind.NOTHING and done:
                continue
            outcome = RequestOutcome.objects.create(
                owner_id=message.conversation.owner_id, message=message, kind=kind
            )
            outcome.candidates.set(candidates)
        if found:
            _notify(message)


def record_memory_off(message: Message, requests: Sequence[MemoryRequest]) -> None:
    """Store that a message asked to remember or forget in a chat that does not change memory.

    In the caller's transaction.
    """
    if any(request.kind in _CHANGING and request.about for request in requests):
        RequestOutcome.objects.create(
            owner_id=message.conversation.owner_id, message=message, kind=OutcomeKind.OFF
        )


def forget_candidates(outcome: RequestOutcome, ids: Collection[Any] | None) -> Deletion | None:
    """Forget the chosen candidates of a question, none of them, or all with `ids` None; returns the deletion.

    A question about several facts stays open for the others. Raises Refused when the question was answered
    already, or none of the chosen facts is a candidate or exists.
    """
    with transaction.atomic():
        lock_memory(outcome.owner_id)
        open_ones = RequestOutcome.objects.select_for_update().open_questions()
        found = open_ones.select_related("message__conversation__owner").filter(pk=outcome.pk).first()
        if found is None:
            raise Refused("fact-gone")
        offered = set(Fact.objects.live().filter(pk__in=found.candidates.all()).values_list("pk", flat=True))
        chosen = offered if ids is None else offered.intersection(ids)
        if not chosen and ids != []:
            raise Refused("fact-gone")
        if not chosen or found.kind == OutcomeKind.UNCLEAR or chosen == offered:
            found.answered_at = timezone.now()
            found.save(update_fields=["answered_at"])
        deletion = None
        if chosen:
            deletion = deletions.forget_facts(
                found.message.conversation.owner,
                chosen,
                deletions.REQUEST_UNDO_WINDOW,
                message=found.message,
            )
        _notify(found.message)
    return deletion


def _notify(message: Message) -> None:
    events.send_on_commit(message.conversation.owner_id, "facts", messages=[str(message.pk)])
