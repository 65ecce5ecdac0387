"""Which conversations there are and what each keeps in mind: begin, strategy, delete, prune."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from chat.models import Conversation, Job, Message, MessageState, Strategy

from . import events, indexing, jobs
from .messages import Refused, not_put_away
from .owners import default_app, hold_memory

# Work that waits for one conversation, by its dedupe key.
_KINDS = ("extract", "end_idle", "title", "warm", "prepare", "app_memory")


def begin(owner: Any, key: Any = None, **fields: Any) -> Conversation:
    """Make an empty conversation in the owner's first app; `fields` are columns of its own.

    With a key that a conversation of this owner has already, that one is returned as it is. Raises Refused
    for an app that has been put away.
    """
    fields = {"app": default_app(owner), **fields}
    known = None if key is None else Conversation.objects.filter(pk=key, owner=owner).first()
    if known is not None:
        return known
    not_put_away(fields["app"])
    with transaction.atomic():
        if key is None:
            made = Conversation.objects.create(owner=owner, **fields)
        else:
            made = Conversation.objects.get_or_create(pk=key, owner=owner, defaults=fields)[0]
        if made.title:
            indexing.titled(made.pk)
    return made


def set_strategy(conversation: Conversation, strategy: str) -> None:
    """Choose what stays in the prompt when it outgrows the window; "" means as the app has it.

    What a prompt holds already stays until it is compacted; what was prepared for that is not used any more.
    """
    if strategy and strategy not in Strategy.values:
        raise Refused(_("Choose one of the strategies."))
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(strategy=strategy, prepared=None)
        events.tell(conversation.owner_id, "chat", conversation=str(conversation.pk))


def delete(conversation: Conversation) -> None:
    """Remove a conversation with its messages, topics and archives, for good.

    What was learned in it stays, without the way back to it (design §5). Another process that writes a reply
    in it at this moment writes into nothing.
    """
    with transaction.atomic():
        remove(conversation)


def prune(owner: Any, before: datetime) -> int:
    """Delete the owner's conversations that were last written in before a moment; returns how many.

    Pinned ones stay, and those with flagged messages; temporary ones go when they are closed. One transaction
    each, so that nobody waits for all.
    """
    kept = Message.objects.filter(Q(flagged=True) | Q(state=MessageState.STREAMING))
    old = Conversation.objects.for_owner(owner).listed().filter(updated_at__lt=before, pinned=False)
    old = old.exclude(messages__in=kept)
    count = 0
    for key in list(old.values_list("pk", flat=True)):
        with transaction.atomic():
            hold_memory(owner.pk)
            # Somebody may have written in it, or flagged something, since the list was made.
            if (conversation := old.select_for_update().filter(pk=key).first()) is not None:
                remove(conversation)
                count += 1
    return count


def remove(conversation: Conversation) -> None:
    """Do what `delete` says in the caller's transaction."""
    # In the order in which whoever writes here takes them: the conversation's row, then its jobs'.
    hold_memory(conversation.owner_id)
    Conversation.objects.select_for_update().filter(pk=conversation.pk).first()
    key = str(conversation.pk)
    Job.objects.filter(dedupe_key__in=[f"{kind}:{key}" for kind in _KINDS]).delete()
    Conversation.objects.filter(pk=conversation.pk).delete()
    indexing.ask_to_tidy()
    # What the model has read of it is in its caches still.
    jobs.enqueue("free_caches", {"conversations": [key]})
