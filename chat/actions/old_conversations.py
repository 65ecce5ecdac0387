"""Deletes conversations by age: they are hidden for a week first, in which the owner can keep them."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from chat.errors import TooLateToUndo
from chat.models import Deletion, User

from . import erasure, owners
from .deletion_batch import create_deletion
from .deletions import undo_deletion
from .owners import lock_memory

# They leave the list at night, when nobody sees it, so the time for undo is long.
UNDO_WINDOW = timedelta(days=7)
# How many conversations one transaction hides, and deletes for good at the end.
_PORTION = 20


def delete_old_conversations(owner: User, before: datetime, now: datetime) -> int:
    """Hide the conversations that were last updated before a moment, for UNDO_WINDOW; return their number.

    `erasure.find_old_conversations` says which are excepted. One transaction for each portion.
    """
    old = erasure.find_old_conversations(owner, before)
    keys = list(old.values_list("pk", flat=True))
    count = 0
    for start in range(0, len(keys), _PORTION):
        with transaction.atomic():
            lock_memory(owner.pk)
            # The owner may have written in some, or marked a message, since the list was read.
            chosen = list(old.select_for_update().filter(pk__in=keys[start : start + _PORTION]))
            if not chosen:
                continue
            deletion = create_deletion(owner, [], now, now + UNDO_WINDOW)
            Deletion.objects.filter(pk=deletion.pk).update(by_age=True)
            count += sum(erasure.hide_conversation(conversation, deletion) for conversation in chosen)
    return count


def keep_old_conversations(owner: User) -> int:
    """Show the conversations again that `delete_old_conversations` has hidden; return their number."""
    count = 0
    for deletion in Deletion.objects.for_owner(owner).pending().filter(by_age=True):
        hidden = deletion.conversations.count()
        try:
            undo_deletion(deletion)
        except TooLateToUndo:
            continue
        count += hidden
    return count


def change_prune_after(owner: User, days: str) -> None:
    """Set after how many days without a message a conversation is deleted; "0" keeps all.

    "0" also shows those again that are hidden already. Raises Refused for a number that is not offered.
    """
    owners.set_prune_after(owner, days)
    if days == "0":
        keep_old_conversations(owner)
