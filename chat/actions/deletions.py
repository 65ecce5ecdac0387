"""Forgetting with a deadline that the server keeps, undo, and the end (design §5, "Undo and forget")."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.models import App, AppMemory, Conversation, Deletion, DeletionState, Fact, FactEvent, FactEventKind

from . import app_memories, erasing, events, jobs, leaving, tombstones, traces
from .history import USER, event, snapshot
from .lineage import ancestor_ids
from .messages import Refused
from .owners import hold_memory
from .undo import Undone, bring_back_batch

WINDOW = timedelta(seconds=4)  # seed 004: "4-second undo toast"
CLEAR_WINDOW = timedelta(seconds=8)  # seed 004, "Clear All Memory"
CHAT_WINDOW = timedelta(seconds=8)  # design §5, "Deleting a conversation"
# A press in the last moment must not lose against the network.
GRACE = timedelta(seconds=1)


class TooLate(Refused):
    """Nothing is left to undo: what was forgotten is gone, or is back already."""


class Undecided(Exception):
    """Whether a message may be read is known once a clear-all is done or undone: at `until` at the latest."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"memory is being cleared until {until.isoformat()}")
        self.until = until


def forget(owner: Any, ids: Collection[Any], window: timedelta = WINDOW) -> Deletion:
    """Take facts out of sight at once and for good at the deadline; the batch is undone as one.

    What a fact had replaced goes with it, since it can be seen through that fact alone. Archived facts can
    be forgotten too. Raises Refused when nothing of it is there.
    """
    now = timezone.now()
    with transaction.atomic():
        hold_memory(owner.pk)
        facts = _with_ancestors(owner, ids)
        if not facts:
            raise Refused(_("This memory is gone already."))
        return _press(owner, facts, now, now + window)


def delete_conversation(conversation: Conversation, *, with_memories: bool = False) -> Deletion:
    """Take a conversation out of sight at once and delete it for good after 8 s; undone as one.

    What was learned in it stays, unless `with_memories`. Stop the reply that is written in it first. Raises
    Refused when it is gone already.
    """
    now = timezone.now()
    owner = conversation.owner
    with transaction.atomic():
        hold_memory(owner.pk)
        ids = [fact.pk for fact in leaving.learned_in(conversation)] if with_memories else []
        deletion = _press(owner, _with_ancestors(owner, ids), now, now + CHAT_WINDOW)
        if not leaving.hide(conversation, deletion):
            raise Refused(_("This chat is gone already."))
        if with_memories:
            told = [memory.pk for memory in app_memories.of_conversation(conversation)]
            app_memories.hide(AppMemory.objects.filter(pk__in=told), deletion)
    return deletion


def clear_all(owner: Any) -> Deletion:
    """Take all that memory holds out of sight at once and for good after 8 s; undone as one.

    Superseded and archived facts go too; batches that are on their way out already are left alone. No message
    from before the press is read once it is done (`barrier`). Raises Refused when there is nothing.
    """
    now = timezone.now()
    with transaction.atomic():
        hold_memory(owner.pk)
        facts = list(Fact.objects.for_owner(owner).filter(deletion__isnull=True))
        if not facts:
            raise Refused(_("There is nothing to forget."))
        return _press(owner, facts, now, now + CLEAR_WINDOW, everything=True)


def forget_app_memories(app: App, ids: Collection[Any] | None = None) -> Deletion:
    """Take memories of an app, or all of them, out of sight at once; undone as one.

    One waits four seconds as a fact does, all of an app eight. Raises Refused when nothing of it is there.
    """
    now = timezone.now()
    with transaction.atomic():
        hold_memory(app.owner_id)
        chosen = AppMemory.objects.filter(app=app)
        chosen = chosen if ids is None else chosen.filter(pk__in=ids)
        deletion = _press(app.owner, [], now, now + (CLEAR_WINDOW if ids is None else WINDOW))
        if ids is None:
            deletion.app = app
            deletion.save(update_fields=["app"])
        if not app_memories.hide(chosen, deletion):
            raise Refused(_("This memory is gone already.") if ids else _("There is nothing to forget."))
    return deletion


def erase_all(owner: Any) -> Deletion:
    """Take all that is kept of an owner out of sight at once and for good after 8 s; undone as one.

    Stop the replies that are being written first. What is begun after the press stays.
    """
    now = timezone.now()
    with transaction.atomic():
        hold_memory(owner.pk)
        facts = list(Fact.objects.for_owner(owner).filter(deletion__isnull=True))
        deletion = _press(owner, facts, now, now + CLEAR_WINDOW, everything=True)
        deletion.whole = True
        deletion.save(update_fields=["whole"])
        erasing.hide(owner, deletion)
    return deletion


def _with_ancestors(owner: Any, ids: Collection[Any]) -> list[Fact]:
    there = Fact.objects.for_owner(owner).filter(deletion__isnull=True)
    chosen = set(there.filter(superseded_at__isnull=True, pk__in=ids).values_list("pk", flat=True))
    if not chosen:
        return []
    chosen.update(ancestor_ids(owner, chosen))
    return list(there.filter(pk__in=chosen))


def _press(
    owner: Any, facts: list[Fact], now: datetime, until: datetime, *, everything: bool = False
) -> Deletion:
    deletion = Deletion.objects.create(owner=owner, pressed_at=now, expires_at=until, everything=everything)
    Fact.objects.filter(pk__in=[f.pk for f in facts]).update(deletion=deletion)
    FactEvent.objects.bulk_create(event(f, FactEventKind.DELETE, USER, before=snapshot(f)) for f in facts)
    jobs.enqueue(
        "finish_deletion",
        {"deletion": str(deletion.pk)},
        key=f"finish_deletion:{deletion.pk}",
        run_after=until + GRACE,
    )
    if facts:
        _tell(owner.pk, facts)
    return deletion


def _tell(owner_id: Any, facts: list[Fact]) -> None:
    """Tell the pages, and what messages memory had them from: below those stands what was learned."""
    sources = {str(f.source_message_id) for f in facts if f.source_message_id is not None}
    events.tell(owner_id, "facts", messages=sorted(sources))


def barrier(owner: Any, said_at: datetime) -> Deletion | None:
    """Return the clear-all that came after a message, done or still pending; a done one decides."""
    later = Deletion.objects.filter(owner=owner, everything=True, pressed_at__gte=said_at)
    # "done" stands before "pending" in the alphabet too.
    return later.exclude(state=DeletionState.UNDONE).order_by("state", "-pressed_at").first()


def may_read(owner: Any, said_at: datetime) -> bool:
    """Tell whether memory may read a message of that moment; raises Undecided while a clear-all is pending.

    Ask inside the transaction that stores what the message says: a press may come while the model reads it.
    """
    found = barrier(owner, said_at)
    if found is not None and found.state == DeletionState.PENDING:
        raise Undecided(found.expires_at + GRACE)
    return found is None


def undo(deletion: Deletion) -> Undone:
    """Bring a batch back, unless its deadline has passed; returns what became of each fact.

    Raises TooLate, with another sentence where it is back already: whoever lost the first answer asks again.
    """
    now = timezone.now()
    with transaction.atomic():
        hold_memory(deletion.owner_id)
        won = Deletion.objects.filter(
            pk=deletion.pk, state=DeletionState.PENDING, expires_at__gt=now - GRACE
        ).update(state=DeletionState.UNDONE)
        if not won and Deletion.objects.filter(pk=deletion.pk, state=DeletionState.UNDONE).exists():
            raise TooLate(_("This has been undone already: it is back."))
        if not won:
            raise TooLate(_("It is too late to undo: this is gone."))
        undone = bring_back_batch(deletion)
        facts = [*undone.returned, *undone.merged, *undone.superseded]
        if deletion.whole:
            erasing.bring_back(deletion)
        else:
            undone.conversation = leaving.bring_back(deletion)
        undone.app_memories = app_memories.bring_back(deletion)
        _tell(deletion.owner_id, facts)
    return undone


def finish(deletion_id: Any, now: datetime) -> bool:
    """Forget a batch for good, if its deadline has passed and nobody undid it; True when this call did it."""
    deletion = Deletion.objects.select_related("owner").filter(pk=deletion_id).first()
    if deletion is None:
        return False
    with transaction.atomic():
        # First, as every verb does: two that wait for each other's row would wait for ever.
        hold_memory(deletion.owner_id)
        won = Deletion.objects.filter(
            pk=deletion_id, state=DeletionState.PENDING, expires_at__lte=now - GRACE
        ).update(state=DeletionState.DONE)
        if not won:
            return False
        deletion.refresh_from_db(fields=["state"])
        if deletion.whole:
            erasing.wipe(deletion)
            events.tell(deletion.owner_id, "facts")
            return True
        ids: set[UUID] = set(Fact.objects.filter(deletion=deletion).values_list("pk", flat=True))
        if ids:
            wordings = traces.erase(deletion.owner, ids)
            tombstones.bury(deletion.owner, wordings, deletion.pressed_at)
            events.tell(deletion.owner_id, "facts")
        app_memories.remove(deletion)
        leaving.remove(deletion)
    return True


def due(deletion_id: Any) -> datetime | None:
    """Return from when on a batch can be forgotten for good; None where it was undone, or is gone."""
    waiting = Deletion.objects.pending().filter(pk=deletion_id).values_list("expires_at", flat=True).first()
    return None if waiting is None else waiting + GRACE


def finish_overdue(now: datetime) -> int:
    """Finish every batch whose deadline passed while the process was away; returns how many."""
    overdue = Deletion.objects.pending().filter(expires_at__lte=now - GRACE).values_list("pk", flat=True)
    return sum(finish(pk, now) for pk in list(overdue))
