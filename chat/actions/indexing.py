"""Keeps the index of words in step with what was said: in the transaction of whatever says or renames it.

What deletes a conversation or a message takes its entries with it; packing a message away leaves them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from chat.models import Conversation, Message, MessageState, Role, SearchEntry
from chat.models.search import shelf_of
from chat.search.words import words
from chat.topics.contents import with_contents

from . import jobs

SPEAKERS = (Role.USER, Role.ASSISTANT)
# Rows of one transaction when an index is filled; nobody else can write meanwhile.
BATCH = 200
# After a deletion there may be more: the index is written anew once for all of them.
TIDY_AFTER = timedelta(minutes=10)
# What SQLite rewrites in one transaction, in pages of the index.
_PAGES = 200


def said(messages: Iterable[Message]) -> None:
    """Note the words of messages, in the caller's transaction; each comes with its conversation.

    What is still being written is noted when it is finished, and what is temporary never.
    """
    entries = [
        _entry(m)
        for m in messages
        if m.content and m.role in SPEAKERS and m.state != MessageState.STREAMING
        if not m.conversation.temporary
    ]
    if entries:
        SearchEntry.objects.bulk_create(
            entries, update_conflicts=True, unique_fields=["message"], update_fields=["words"]
        )


def titled(conversation_id: Any) -> None:
    """Note the words of a conversation's title as it is now, in the caller's transaction."""
    found = Conversation.objects.filter(pk=conversation_id, temporary=False)
    for owner_id, title in found.values_list("owner_id", "title"):
        shelf = shelf_of(owner_id, titles=True)
        SearchEntry.objects.update_or_create(
            conversation_id=conversation_id,
            message=None,
            defaults={"owner_id": owner_id, "shelf": shelf, "words": " ".join(words(title))},
        )


def missing() -> QuerySet[Conversation]:
    """Return the conversations in which something has no entry yet, the last written in first."""
    named = SearchEntry.objects.filter(conversation=OuterRef("pk"), message__isnull=True)
    unsaid = Exists(_unsaid().filter(conversation=OuterRef("pk")))
    rows = Conversation.objects.filter(temporary=False).filter(unsaid | (~Q(title="") & ~Exists(named)))
    return rows.order_by("-updated_at")


def _unsaid() -> QuerySet[Message]:
    here = Q(archive__isnull=False) | ~Q(content="")
    rows = Message.objects.filter(here, role__in=SPEAKERS, search_entry__isnull=True)
    return rows.exclude(state=MessageState.STREAMING)


def fill(conversations: Collection[Any]) -> int:
    """Give entries to what has none in these conversations, the newest first; returns how many messages.

    For what was there before there was an index, and what came by other ways than `messages`. In short
    transactions, below everything that is indexed already: what was said before ranks as older.
    """
    count = 0
    while entries := _prepared(conversations):
        with transaction.atomic():
            _put_below(entries)
        count += len(entries)
    named = SearchEntry.objects.filter(conversation=OuterRef("pk"), message__isnull=True)
    chats = Conversation.objects.filter(pk__in=conversations, temporary=False).exclude(title="")
    with transaction.atomic():
        SearchEntry.objects.bulk_create(
            SearchEntry(
                owner_id=chat.owner_id,
                conversation=chat,
                shelf=shelf_of(chat.owner_id, titles=True),
                words=" ".join(words(chat.title)),
            )
            for chat in chats.filter(~Exists(named)).only("owner_id", "title")
        )
    return count


def _prepared(conversations: Collection[Any]) -> list[SearchEntry]:
    rows = _unsaid().filter(conversation__in=conversations).select_related("conversation")
    return [_entry(m) for m in with_contents(rows.order_by("-created_at", "-seq")[:BATCH])]


def _put_below(entries: list[SearchEntry]) -> None:
    # Some may have been deleted since they were read.
    there = _unsaid().filter(pk__in=[entry.message_id for entry in entries])
    keys = set(there.select_for_update(of=("self",)).values_list("pk", flat=True))
    lowest = SearchEntry.objects.order_by("pk").values_list("pk", flat=True).first()
    # FTS5 writes a part of its own for each key that is smaller than the last: upwards, it is one.
    upwards = [entry for entry in reversed(entries) if entry.message_id in keys]
    first = min(1 if lowest is None else lowest, 1) - len(upwards)
    for key, entry in enumerate(upwards, start=first):
        entry.pk = key
    SearchEntry.objects.bulk_create(upwards)


def _entry(message: Message) -> SearchEntry:
    chat = message.conversation
    return SearchEntry(
        owner_id=chat.owner_id,
        conversation=chat,
        message_id=message.pk,
        shelf=shelf_of(chat.owner_id),
        words=" ".join(words(message.content)),
    )


def ask_to_fill() -> None:
    """Have what came by other ways be found soon; in the caller's transaction."""
    jobs.enqueue("sweep_index", {}, key="sweep_index")


def ask_to_tidy(*, at_once: bool = False) -> None:
    """Have what was deleted leave the index's file too; in the caller's transaction."""
    later = timezone.now() + (timedelta() if at_once else TIDY_AFTER)
    jobs.enqueue("tidy_index", {}, key="tidy_index", run_after=later)


def tidy() -> int:
    """Write SQLite's index anew without what was deleted from it; returns how many steps that took.

    FTS5 only notes that something is gone until it merges its parts. In short transactions; PostgreSQL's
    vacuum does the same by itself.
    """
    if connection.vendor != "sqlite":
        return 0
    for step in range(100_000):
        with transaction.atomic(), connection.cursor() as cursor:
            # A negative number merges all parts into one; the first step begins, the others go on.
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
