"""Conversations of here that the file knows further: what follows is written aside and moved over at once."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from chat.actions import indexing, keeping
from chat.actions.owners import default_app
from chat.models import Conversation, Deletion, Message, SearchEntry, TitledBy, Topic
from chat.porting.shapes import MessageIn

from .chat_rows import Chat, ChatRows
from .chats import Chats, local, steps_of
from .staging import hold

_CHOSEN = ("system_prompt", "strategy", "metadata", "pinned", "memory_mode", "created_at")
_WATERMARKS = {"extracted_through", "cleared_through"}


def go_on(chats: Chats, batch: Deletion) -> None:
    """Let conversations go on; each is whole or as it was, and killed in between the same file does the rest.

    Of a long one all but the beginning is written behind the batch, a little at a time, and moved over in the
    transaction that writes that. What its app was told of them is noted by `have_told`. Raises Refused where
    the batch is gone.
    """
    for chat in chats.forward:
        first, *longer = steps_of(chat.missing)
        aside = _aside(chat, chats.rows, batch, longer) if longer else None
        with transaction.atomic():
            hold(batch)
            gone_on = _go_on(chat, chats.rows, first, aside)
        if not gone_on:
            chats.not_gone_on(chat)
            for left in Conversation.objects.filter(pk__in=[aside] if aside else []):
                keeping.delete(left)


def _aside(chat: Chat, rows: ChatRows, batch: Deletion, steps: Sequence[Sequence[MessageIn]]) -> UUID:
    """Write messages into a conversation that nobody sees, the last of them first, and return its key."""
    with transaction.atomic():
        hold(batch)
        app = default_app(batch.owner)
        aside: UUID = Conversation.objects.create(owner=batch.owner, app=app, deletion=batch).pk
    for step in reversed(steps):
        with transaction.atomic():
            hold(batch)
            rows.write([(chat, step)], aside)
    return aside


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


def _go_on(chat: Chat, rows: ChatRows, first: Sequence[MessageIn], aside: UUID | None) -> bool:
    """Write what follows, or return False where the conversation is not any more what it was."""
    here = Conversation.objects.select_for_update().filter(pk=chat.key, deletion=None).first()
    if here is None or local([chat.key])[chat.key] != chat.local:
        return False
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
    if aside is not None:
        _move(aside, here, chat.unlearned)
    rows.write([(chat, first)])
    indexing.titled(here.pk)
    _mark(chat)
    return True


def _move(aside: UUID, here: Conversation, unlearned: int) -> None:
    """Let what was written aside stand here; the index has read some of it by now, perhaps."""
    written = Message.objects.filter(conversation=aside)
    written.filter(seq__lte=unlearned).update(imported=True)
    written.update(conversation=here)
    Topic.objects.filter(conversation=aside).update(conversation=here)
    SearchEntry.objects.filter(conversation=aside).update(conversation=here)
    Conversation.objects.filter(pk=aside).delete()


def _mark(chat: Chat) -> None:
    """Let the messages that were here already be what the file says of them: replaced, marked."""
    rows = Message.objects.filter(conversation=chat.key).values_list("pk", "flagged", "replaced_by")
    marks = {key: (flagged, newer) for key, flagged, newer in rows if key in chat.local}
    other = []
    for given in chat.given.messages:
        key, newer = chat.messages[given.id], chat.messages[given.replaced_by] if given.replaced_by else None
        if marks.get(key, (given.flagged, newer)) != (given.flagged, newer):
            other.append(Message(pk=key, flagged=given.flagged, replaced_by_id=newer))
    Message.objects.bulk_update(other, ["flagged", "replaced_by"], batch_size=100)
