"""Extends conversations that exist here and continue in the file.

Most new messages are written into a hidden conversation first and then moved over in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from chat.actions import erasure, indexing
from chat.actions.owners import default_app
from chat.models import Conversation, Deletion, Message, SearchEntry, TitledBy, Topic
from chat.porting.shapes import ImportedMessage

from .chat_rows import ChatRows, ImportedChat
from .chats import ChatImporter, fetch_local_messages, split_messages
from .staging import keep_batch_alive

_CHOSEN = (
    *("system_prompt", "strategy", "metadata", "pinned", "memory_mode", "use_past_chats", "use_reasoning"),
    "created_at",
)
_WATERMARKS = {"extracted_through", "cleared_through"}


def append_to_conversations(chats: ChatImporter, batch: Deletion) -> None:
    """Append the missing messages of each conversation that continues in the file, all of them or none.

    Of a long continuation, all but the first messages are written behind the staging batch, in several
    transactions, and moved over in the transaction that writes the first ones.
    `update_app_memory_watermarks` updates the app memory's watermark later. Raises Refused when the
    staging batch is gone.
    """
    for chat in chats.continued:
        first, *longer = split_messages(chat.missing)
        hidden = _write_hidden(chat, chats.rows, batch, longer) if longer else None
        with transaction.atomic():
            keep_batch_alive(batch)
            appended = _append(chat, chats.rows, first, hidden)
        if not appended:
            chats.report_not_appended(chat)
            for left in Conversation.objects.filter(pk__in=[hidden] if hidden else []):
                erasure.purge_conversation(left)


def _write_hidden(
    chat: ImportedChat, rows: ChatRows, batch: Deletion, steps: Sequence[Sequence[ImportedMessage]]
) -> UUID:
    """Write messages into a hidden conversation, the last ones first, and return its key."""
    with transaction.atomic():
        keep_batch_alive(batch)
        app = default_app(batch.owner)
        hidden: UUID = Conversation.objects.create(owner=batch.owner, app=app, deletion=batch).pk
    for step in reversed(steps):
        with transaction.atomic():
            keep_batch_alive(batch)
            rows.write([(chat, step)], hidden)
    return hidden


def update_app_memory_watermarks(chats: ChatImporter) -> None:
    """Move the app memory watermarks forward to the file's; in the transaction that stores the app memories.

    Not earlier: `AppMemoryPlan` treats an app memory as deleted when the watermark already covers its
    messages.
    """
    keys = {chat.key: chats.rows.find_app_memory_through(chat) for chat in chats.continued}
    changed = []
    for existing in Conversation.objects.filter(pk__in=keys).only("app_memory_after"):
        if existing.app_memory_after < keys[existing.pk]:
            existing.app_memory_after = keys[existing.pk]
            changed.append(existing)
    Conversation.objects.bulk_update(changed, ["app_memory_after"], batch_size=100)


def _append(
    chat: ImportedChat, rows: ChatRows, first: Sequence[ImportedMessage], hidden: UUID | None
) -> bool:
    """Append the messages, or return False when the conversation changed since it was read."""
    existing = Conversation.objects.select_for_update().filter(pk=chat.key, deletion=None).first()
    if existing is None or fetch_local_messages([chat.key])[chat.key] != chat.local:
        return False
    given = rows.build_columns(chat)
    # Keep local settings; never move a watermark back.
    for name in (*_CHOSEN, "app_memory_after"):
        del given[name]
    if existing.titled_by == TitledBy.USER:
        del given["title"], given["titled_by"]
    if Message.objects.not_extracted(existing).exists():
        # Local messages are still unread by memory, so the imported ones are marked one by one.
        chat.imported_seq = given.pop("imported_through") or given["extracted_through"]
        del given["extracted_through"]
    for name, value in given.items():
        furthest = max(getattr(existing, name), value) if name in _WATERMARKS else value
        setattr(existing, name, furthest)
    # The memory block and the prepared compaction do not know the new messages.
    existing.memory_block, existing.memory_block_facts, existing.prepared = None, {}, None
    existing.branch += 1
    existing.save()
    if hidden is not None:
        _move_messages(hidden, existing, chat.imported_seq)
    rows.write([(chat, first)])
    indexing.index_title(existing.pk)
    _update_marks(chat)
    return True


def _move_messages(hidden: UUID, existing: Conversation, imported_seq: int) -> None:
    """Move the hidden messages into the conversation; the search index may already contain some of them."""
    written = Message.objects.filter(conversation=hidden)
    written.filter(seq__lte=imported_seq).update(imported=True)
    written.update(conversation=existing)
    Topic.objects.filter(conversation=hidden).update(conversation=existing)
    SearchEntry.objects.filter(conversation=hidden).update(conversation=existing)
    Conversation.objects.filter(pk=hidden).delete()


def _update_marks(chat: ImportedChat) -> None:
    """Update the marks of the messages that were here already to the file's values, and `replaced_by`."""
    rows = Message.objects.filter(conversation=chat.key)
    marks = {
        key: (flagged, importance, newer)
        for key, flagged, importance, newer in rows.values_list("pk", "flagged", "importance", "replaced_by")
        if key in chat.local
    }
    differing = []
    for given in chat.given.messages:
        key, newer = chat.messages[given.id], chat.messages[given.replaced_by] if given.replaced_by else None
        if key not in marks:
            continue
        importance = marks[key][1] if given.importance is None else given.importance
        if marks[key] != (given.flagged, importance, newer):
            new = {"flagged": given.flagged, "importance": importance, "replaced_by_id": newer}
            differing.append(Message(pk=key, **new))
    Message.objects.bulk_update(differing, ["flagged", "importance", "replaced_by"], batch_size=100)
