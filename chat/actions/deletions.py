"""Deletions with an undo deadline that the server enforces: request, undo, finish."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Case, Max, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from chat.errors import Refused, TooLateToUndo
from chat.models import (
    App,
    AppMemory,
    Conversation,
    Deletion,
    DeletionState,
    Fact,
    Message,
    User,
)

from . import app_memories, conversations, erasure, events, kept_out, purge, retraction, tombstones
from .clock import STEADY, is_clock_steady
from .deletion_batch import UNDO_GRACE as UNDO_GRACE
from .deletion_batch import UndoResult, create_deletion, notify_fact_changes, restore_facts
from .owners import lock_memory
from .supersession import find_ancestor_ids

FACT_UNDO_WINDOW = timedelta(seconds=4)
CLEAR_UNDO_WINDOW = timedelta(seconds=8)
# The user reads the reply first, and sees what was forgotten below it.
REQUEST_UNDO_WINDOW = timedelta(minutes=2)
# The request came from a program, so that nobody may have seen what was forgotten.
PROGRAM_UNDO_WINDOW = timedelta(hours=24)
CONVERSATION_UNDO_WINDOW = timedelta(seconds=8)


class Undecided(Exception):
    """A pending clear-all decides, at `until` at the latest, whether a message may be extracted."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"memory is being cleared until {until.isoformat()}")
        self.until = until


def forget_facts(
    owner: User,
    ids: Collection[Any],
    window: timedelta = FACT_UNDO_WINDOW,
    *,
    message: Message | None = None,
) -> Deletion:
    """Hide facts at once and delete them for good at the deadline; one undo restores all of them.

    The facts that they superseded are included, because those are reachable only through them. Archived
    facts can be deleted too. `message` is the message that asked for it. Raises Refused when none of the
    facts exists.
    """
    now = timezone.now()
    with transaction.atomic():
        lock_memory(owner.pk)
        facts = _with_ancestors(owner, ids)
        if not facts:
            raise Refused("fact-gone")
        return create_deletion(owner, facts, now, now + window, message=message)


def delete_conversation(conversation: Conversation, *, with_memories: bool = False) -> Deletion:
    """Hide a conversation at once and delete it for good after 8 s; one undo restores it.

    Facts learned in it stay, unless `with_memories` is set. Stop its running reply before the call.
    Raises Refused when it is deleted already.
    """
    now = timezone.now()
    owner = conversation.owner
    with transaction.atomic():
        lock_memory(owner.pk)
        ids = [fact.pk for fact in conversations.find_facts_learned_in(conversation)] if with_memories else []
        deletion = create_deletion(owner, _with_ancestors(owner, ids), now, now + CONVERSATION_UNDO_WINDOW)
        if not erasure.hide_conversation(conversation, deletion):
            raise Refused("conversation-gone")
        if with_memories:
            memory_ids = [memory.pk for memory in app_memories.list_for_conversation(conversation)]
            app_memories.hide_app_memories(AppMemory.objects.filter(pk__in=memory_ids), deletion)
    return deletion


def clear_memory(owner: User) -> Deletion:
    """Hide all facts at once and delete them for good after 8 s; one undo restores all of them.

    Superseded and archived facts are included; earlier pending deletions stay separate. No message sent
    before the call is extracted afterwards (`find_clear_after`). Raises Refused when there are no facts, and
    no messages from which memory would learn some.
    """
    now = timezone.now()
    with transaction.atomic():
        lock_memory(owner.pk)
        facts = list(Fact.objects.for_owner(owner).filter(deletion__isnull=True))
        if not facts and not _has_new_backlog(owner):
            raise Refused("nothing-to-forget")
        return create_deletion(owner, facts, now, now + CLEAR_UNDO_WINDOW, everything=True)


def _has_new_backlog(owner: User) -> bool:
    """Return whether memory has yet to read a message that was sent after the last clear-all."""
    said = Coalesce("ordered_at", "created_at")
    newest = Message.objects.backlog(owner).aggregate(newest=Max(said))["newest"]
    return newest is not None and find_clear_after(owner, newest) is None


def forget_app_memories(app: App, ids: Collection[Any] | None = None) -> Deletion:
    """Hide some memories of an app for 4 s, or with `ids` None all for 8 s, then delete them for good.

    One undo restores all of them. Raises Refused when none of them exists.
    """
    now = timezone.now()
    with transaction.atomic():
        lock_memory(app.owner_id)
        chosen = AppMemory.objects.filter(app=app)
        chosen = chosen if ids is None else chosen.filter(pk__in=ids)
        deletion = create_deletion(
            app.owner, [], now, now + (CLEAR_UNDO_WINDOW if ids is None else FACT_UNDO_WINDOW)
        )
        if ids is None:
            deletion.app = app
            deletion.save(update_fields=["app"])
        if not app_memories.hide_app_memories(chosen, deletion):
            raise Refused("fact-gone" if ids else "nothing-to-forget")
    return deletion


def erase_account(
    owner: User, window: timedelta = CLEAR_UNDO_WINDOW, *, with_login: bool = False
) -> Deletion:
    """Hide everything stored for an owner at once and delete it for good after `window`.

    One undo restores it. `with_login`: the account itself goes too.
    Stop running replies before the call. Data created after the call stays.
    """
    now = timezone.now()
    with transaction.atomic():
        lock_memory(owner.pk)
        facts = list(Fact.objects.for_owner(owner).filter(deletion__isnull=True))
        deletion = create_deletion(owner, facts, now, now + window, everything=True)
        deletion.whole, deletion.account = True, with_login
        deletion.save(update_fields=["whole", "account"])
        erasure.hide_account(owner, deletion)
    return deletion


def _with_ancestors(owner: User, ids: Collection[Any]) -> list[Fact]:
    rows = Fact.objects.for_owner(owner).filter(deletion__isnull=True)
    chosen = set(rows.filter(superseded_at__isnull=True, pk__in=ids).values_list("pk", flat=True))
    if not chosen:
        return []
    chosen.update(find_ancestor_ids(owner.pk, chosen))
    return list(rows.filter(pk__in=chosen))


def find_clear_after(owner: User, said_at: datetime) -> Deletion | None:
    """Return the clear-all requested after `said_at`, the time of a message (`Message.said_at`).

    A finished one takes precedence over a pending one.
    """
    later = Deletion.objects.filter(owner=owner, everything=True, pressed_at__gte=said_at)
    finished_first = Case(When(state=DeletionState.DONE, then=0), default=1)
    return later.exclude(state=DeletionState.UNDONE).order_by(finished_first, "-pressed_at").first()


def is_extraction_allowed(owner: User, said_at: datetime) -> bool:
    """Return whether a message of that time may be extracted; raises Undecided while a clear-all is pending.

    Call it inside the transaction that stores the extraction, because a clear-all may be requested while
    the model reads the message.
    """
    found = find_clear_after(owner, said_at)
    if found is not None and found.state == DeletionState.PENDING:
        raise Undecided(found.expires_at + UNDO_GRACE)
    return found is None


def undo_deletion(deletion: Deletion) -> UndoResult:
    """Undo a pending deletion before its deadline; returns what became of each fact.

    Raises TooLateToUndo when the deadline has passed, and with another code when it was undone already.
    """
    now = timezone.now()
    with transaction.atomic():
        lock_memory(deletion.owner_id)
        claimed = Deletion.objects.filter(
            pk=deletion.pk, state=DeletionState.PENDING, expires_at__gt=now - UNDO_GRACE
        ).update(state=DeletionState.UNDONE, digests=[])
        if not claimed and Deletion.objects.filter(pk=deletion.pk, state=DeletionState.UNDONE).exists():
            raise TooLateToUndo("undone-already")
        if not claimed:
            raise TooLateToUndo("too-late-to-undo")
        retraction.undo_retraction(deletion)
        kept_out.unmark(deletion)
        undone = restore_facts(deletion)
        facts = [*undone.returned, *undone.merged, *undone.superseded]
        restored = erasure.restore_conversations(deletion)
        if deletion.by_age:
            Conversation.objects.filter(pk__in=[one.pk for one in restored]).update(kept_at=now)
        if not deletion.whole and not deletion.by_age:
            undone.conversation = next(iter(restored), None)
        undone.app_memories = app_memories.restore_app_memories(deletion)
        notify_fact_changes(deletion.owner_id, facts, deletion.message)
    return undone


def finish_deletion(deletion_id: Any, now: datetime) -> bool:
    """Delete a batch for good if its deadline has passed and it was not undone; returns whether it did."""
    related = Deletion.objects.select_related("owner", "message__conversation")
    deletion = related.filter(pk=deletion_id).first()
    if deletion is None:
        return False
    if deletion.expires_at <= now - UNDO_GRACE:
        kept_out.mark_everywhere(deletion)
    if deletion.by_age and not is_clock_steady(now):
        # By a wrong clock the week may be over too soon.
        Deletion.objects.pending().filter(pk=deletion_id).update(expires_at=now + STEADY)
        return False
    with transaction.atomic():
        # Memory is locked first, as in every writer: another order could deadlock.
        lock_memory(deletion.owner_id)
        due = Deletion.objects.pending().filter(pk=deletion_id, expires_at__lte=now - UNDO_GRACE)
        if later := retraction.find_next_look(deletion, now):
            # The new wording, which may teach the facts again, is not extracted yet.
            due.update(expires_at=later)
            return False
        if not due.update(state=DeletionState.DONE, digests=[]):
            return False
        deletion.refresh_from_db(fields=["state", "marked_messages"])
        if deletion.account:
            erasure.delete_account_rows(deletion)
            return True
        if deletion.whole:
            erasure.wipe_account(deletion)
            events.send_on_commit(deletion.owner_id, "facts")
            return True
        facts = Fact.objects.filter(deletion=deletion)
        digests = set(deletion.digests)
        if deletion.retraction is None:
            digests |= kept_out.hash_marked_sentences(deletion)
        ids: set[UUID] = set(facts.values_list("pk", flat=True))
        if ids:
            if deletion.retraction is None:
                digests |= tombstones.hash_facts(deletion.owner, facts)
            wordings = purge.purge_facts(deletion.owner, ids)
            if deletion.retraction is None:
                kept_out.remove_from_summaries(deletion.owner, wordings)
            told_below = [str(deletion.message_id)] if deletion.message_id else []
            events.send_on_commit(deletion.owner_id, "facts", messages=told_below)
        tombstones.add_tombstones(deletion.owner, digests, deletion.pressed_at)
        app_memories.purge_app_memories(deletion)
        erasure.purge_hidden_conversations(deletion)
    return True


def find_finish_time(deletion_id: Any) -> datetime | None:
    """Return when a pending deletion can be finished (wall clock); None when it is no longer pending."""
    waiting = Deletion.objects.pending().filter(pk=deletion_id).values_list("expires_at", flat=True).first()
    return None if waiting is None else waiting + UNDO_GRACE


def finish_overdue_deletions(now: datetime) -> int:
    """Finish every deletion whose deadline passed while the process was down; returns how many."""
    overdue = Deletion.objects.pending().filter(expires_at__lte=now - UNDO_GRACE).values_list("pk", flat=True)
    return sum(finish_deletion(pk, now) for pk in list(overdue))
