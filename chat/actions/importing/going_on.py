"""Conversations of here that the file knows further: what follows is written, in a transaction each."""

from __future__ import annotations

from django.db import transaction

from chat.actions import indexing
from chat.models import Conversation, Deletion, Message, TitledBy

from .chat_rows import Chat, ChatRows
from .chats import Chats, local
from .staging import hold

_CHOSEN = ("system_prompt", "strategy", "metadata", "pinned", "memory_mode", "created_at")
_WATERMARKS = {"extracted_through", "cleared_through"}


def go_on(chats: Chats, batch: Deletion) -> None:
    """Let conversations go on; each is whole or as it was, and killed in between the same file does the rest.

    What its app was told of them is noted by `have_told`. Raises Refused where the batch is gone.
    """
    for chat in chats.forward:
        with transaction.atomic():
            hold(batch)
            _go_on(chat, chats.rows)


def have_told(chats: Chats) -> None:
    """Note how far apps were told of these conversations elsewhere; in the transaction that tells it here.

    Not before: what an app remembers of a conversation counts as forgotten where it was told of it already.
    """
    keys = {chat.key: chats.rows.told_through(chat) for chat in chats.forward}
    behind = []
    for here in Conversation.objects.filter(pk__in=keys).only("app_memory_after"):
        if here.app_memory_after < keys[here.pk]:
            here.app_memory_after = keys[here.pk]
            behind.append(here)
    Conversation.objects.bulk_update(behind, ["app_memory_after"], batch_size=100)


def _go_on(chat: Chat, rows: ChatRows) -> None:
    here = Conversation.objects.select_for_update().filter(pk=chat.key, deletion=None).first()
    if here is None or local([chat.key])[chat.key] != chat.local:
        return
    given = rows.columns(chat)
    # What was chosen here stays so; what memory has come through here it has come through.
    for name in (*_CHOSEN, "app_memory_after"):
        del given[name]
    if here.titled_by == TitledBy.USER:
        del given["title"], given["titled_by"]
    if Message.objects.unread_by_memory(here).exists():
        # What was said here is still read, and what came in is marked one by one.
        chat.unlearned = given.pop("imported_through") or given["extracted_through"]
        del given["extracted_through"]
    for name, value in given.items():
        furthest = max(getattr(here, name), value) if name in _WATERMARKS else value
        setattr(here, name, furthest)
    # What was built of it tells of less.
    here.memory_block, here.memory_block_facts, here.prepared = None, {}, None
    here.branch += 1
    here.save()
    rows.write([(chat, chat.missing)])
    indexing.titled(here.pk)
    _mark(chat)


def _mark(chat: Chat) -> None:
    """Let the messages that were here already be what the file says of them: replaced, marked."""
    rows = {m.pk: m for m in Message.objects.filter(conversation=chat.key).only("flagged", "replaced_by")}
    other = []
    for given in chat.given.messages:
        row = rows.get(chat.messages[given.id])
        told = (given.flagged, chat.messages[given.replaced_by] if given.replaced_by else None)
        if row is not None and row.pk in chat.local and (row.flagged, row.replaced_by_id) != told:
            row.flagged, row.replaced_by_id = told
            other.append(row)
    Message.objects.bulk_update(other, ["flagged", "replaced_by"], batch_size=100)
