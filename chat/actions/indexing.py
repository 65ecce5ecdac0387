"""Keeps the full-text index consistent with messages and titles, in the transaction that writes them.

Deleting a conversation or a message deletes its entries; packing a message into an archive keeps them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from chat.models import Conversation, Message, MessageState, Role, SearchEntry
from chat.models.search import make_shelf
from chat.search.words import split_words
from chat.topics.contents import load_contents

from . import jobs

SPEAKERS = (Role.USER, Role.ASSISTANT)
# Rows per transaction while the index is filled; other writers wait for that long.
BATCH = 200
# More deletions may follow: the index is merged once for all of them.
TIDY_AFTER = timedelta(minutes=10)
# Pages of the index that SQLite rewrites in one transaction.
_PAGES = 200


def index_messages(messages: Iterable[Message]) -> None:
    """Index messages, in the caller's transaction; each must have its conversation loaded.

    A message still being written is indexed when it is finished; temporary conversations never are.
    """
    entries = [
        _build_entry(m)
        for m in messages
        if m.content and m.role in SPEAKERS and m.state != MessageState.STREAMING
        if not m.conversation.temporary
    ]
    if entries:
        SearchEntry.objects.bulk_create(
            entries, update_conflicts=True, unique_fields=["message"], update_fields=["words"]
        )


def index_title(conversation_id: Any) -> None:
    """Index a conversation's current title, in the caller's transaction."""
    found = Conversation.objects.filter(pk=conversation_id, temporary=False)
    for owner_id, title in found.values_list("owner_id", "title"):
        shelf = make_shelf(owner_id, titles=True)
        SearchEntry.objects.update_or_create(
            conversation_id=conversation_id,
            message=None,
            defaults={"owner_id": owner_id, "shelf": shelf, "words": " ".join(split_words(title))},
        )


def find_unindexed_conversations() -> QuerySet[Conversation]:
    """Return the conversations with messages or titles that are not indexed, the last updated first."""
    title_entries = SearchEntry.objects.filter(conversation=OuterRef("pk"), message__isnull=True)
    has_unindexed = Exists(_unindexed_messages().filter(conversation=OuterRef("pk")))
    rows = Conversation.objects.filter(temporary=False).filter(
        has_unindexed | (~Q(title="") & ~Exists(title_entries))
    )
    return rows.order_by("-updated_at")


def _unindexed_messages() -> QuerySet[Message]:
    here = Q(archive__isnull=False) | ~Q(content="")
    rows = Message.objects.filter(here, role__in=SPEAKERS, search_entry__isnull=True)
    return rows.exclude(state=MessageState.STREAMING)


def fill_index(conversations: Collection[Any]) -> int:
    """Index what is missing in these conversations, the newest first; returns how many messages.

    For messages older than the index, and those not written by `messages`. Short transactions. The
    entries get keys below all existing ones, so that older messages rank as older.
    """
    count = 0
    while entries := _build_missing_entries(conversations):
        with transaction.atomic():
            _insert_below(entries)
        count += len(entries)
    title_entries = SearchEntry.objects.filter(conversation=OuterRef("pk"), message__isnull=True)
    chats = Conversation.objects.filter(pk__in=conversations, temporary=False).exclude(title="")
    with transaction.atomic():
        SearchEntry.objects.bulk_create(
            SearchEntry(
                owner_id=chat.owner_id,
                conversation=chat,
                shelf=make_shelf(chat.owner_id, titles=True),
                words=" ".join(split_words(chat.title)),
            )
            for chat in chats.filter(~Exists(title_entries)).only("owner_id", "title")
        )
    return count


def _build_missing_entries(conversations: Collection[Any]) -> list[SearchEntry]:
    rows = _unindexed_messages().filter(conversation__in=conversations).select_related("conversation")
    return [_build_entry(m) for m in load_contents(rows.order_by("-created_at", "-seq")[:BATCH])]


def _insert_below(entries: list[SearchEntry]) -> None:
    # Some may have been deleted since they were read.
    there = _unindexed_messages().filter(pk__in=[entry.message_id for entry in entries])
    keys = set(there.select_for_update(of=("self",)).values_list("pk", flat=True))
    lowest = SearchEntry.objects.order_by("pk").values_list("pk", flat=True).first()
    # FTS5 writes a separate segment for each key smaller than the last one; ascending keys share a segment.
    ascending = [entry for entry in reversed(entries) if entry.message_id in keys]
    first = min(1 if lowest is None else lowest, 1) - len(ascending)
    for key, entry in enumerate(ascending, start=first):
        entry.pk = key
    SearchEntry.objects.bulk_create(ascending)


def _build_entry(message: Message) -> SearchEntry:
    chat = message.conversation
    return SearchEntry(
        owner_id=chat.owner_id,
        conversation=chat,
        message_id=message.pk,
        shelf=make_shelf(chat.owner_id),
        words=" ".join(split_words(message.content)),
    )


def queue_index_fill() -> None:
    """Queue the indexing of rows that were not written by `messages`; in the caller's transaction."""
    jobs.enqueue("sweep_index", {}, key="sweep_index")


def queue_index_merge(*, at_once: bool = False) -> None:
    """Queue the removal of deleted text from the files of the database; in the caller's transaction."""
    later = timezone.now() + (timedelta() if at_once else TIDY_AFTER)
    jobs.enqueue("tidy_index", {}, key="tidy_index", run_after=later)


def merge_index() -> int:
    """Merge SQLite's index so that deleted text leaves the file; returns the number of steps.

    FTS5 only marks deleted text until it merges its segments. One short transaction per step. PostgreSQL
    needs nothing: its vacuum does this.
    """
    if connection.vendor != "sqlite":
        return 0
    for step in range(100_000):
        with transaction.atomic(), connection.cursor() as cursor:
            # A negative number of pages starts a merge of all segments into one; positive ones continue it.
            pages = -_PAGES if step == 0 else _PAGES
            cursor.execute("SELECT total_changes()")
            before = cursor.fetchone()[0]
            cursor.execute(
                "INSERT INTO chat_searchwords(chat_searchwords, rank) VALUES ('merge', %s)", [pages]
            )
            cursor.execute("SELECT total_changes()")
            if cursor.fetchone()[0] - before < 2:
                return step + 1
    return step + 1
