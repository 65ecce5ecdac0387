"""Cold storage of a topic's older messages: what may be packed, packing, and bringing back (design §7).

A prompt reads its messages word for word again and again; only what none replays any more may be packed.
"""

from __future__ import annotations

import logging
from typing import Any

from django.db import connection, transaction
from django.db.models import Count
from django.utils import timezone

from chat.models import Conversation, Message, MessageState, Topic, TopicArchive
from chat.models.message import MessageQuerySet
from chat.topics.contents import lost, read
from chat.topics.pack import CorruptArchive
from chat.topics.pack import pack as packed
from chat.topics.pack import unpack as unpacked

logger = logging.getLogger(__name__)

# Seed 002, "Configuration": max_messages_per_topic, recent_message_keep.
MOST_LIVE = 12
# What of a conversation decides about packing; the rest of its row may be long.
_WATERMARKS = ("trimmed_through", "extracted_through", "imported_through", "kept")
KEPT = 4


def active_topic(conversation_id: Any) -> Any:
    """Return the key of the topic that was spoken of last, None before there is one."""
    placed = Message.objects.filter(conversation=conversation_id, topic__isnull=False).shown()
    return placed.order_by("-seq").values_list("topic", flat=True).first()


def packable(conversation: Conversation) -> MessageQuerySet:
    """Return the messages whose contents nobody needs as they stand, oldest first.

    Left out of the prompt; read by memory; not marked by the user; finished.
    """
    shown = Message.objects.filter(conversation=conversation).shown()
    through = min(conversation.trimmed_through, conversation.read_through)
    live = shown.filter(topic__isnull=False, archive__isnull=True, flagged=False, seq__lte=through)
    return live.exclude(seq__in=conversation.kept).exclude(content="").exclude(state=MessageState.STREAMING)


def waiting(conversation_id: Any, active: Any) -> list[Any]:
    """Return the keys of the topics, but for the active one, with more than `MOST_LIVE` messages to pack."""
    conversation = Conversation.objects.only(*_WATERMARKS).get(pk=conversation_id)
    if min(conversation.trimmed_through, conversation.read_through) <= MOST_LIVE:
        return []
    counts = packable(conversation).exclude(topic=active).order_by().values("topic").annotate(n=Count("pk"))
    return [row["topic"] for row in counts if row["n"] > MOST_LIVE]


def to_pack(topic: Topic) -> list[Message]:
    """Return what packing a topic would move now, oldest first: nothing while it is the active one."""
    conversation = Conversation.objects.get(pk=topic.conversation_id)
    if active_topic(conversation.pk) == topic.pk:
        return []
    live = Message.objects.filter(topic=topic, archive__isnull=True).shown().exclude(content="")
    keys = list(live.values_list("pk", flat=True))
    if len(keys) <= MOST_LIVE:
        return []
    return list(packable(conversation).filter(topic=topic).exclude(pk__in=keys[-KEPT:]))


def record_summary(topic: Topic, summary: str, through: int) -> bool:
    """Keep what a topic's summary says of its messages through that one, also in `topic` itself.

    False where the topic is gone, or the conversation was rewritten since `topic` was read: of what was
    replaced the summary would speak.
    """
    with transaction.atomic():
        there = Conversation.objects.select_for_update().kept().filter(pk=topic.conversation_id)
        fresh = there.first()
        if fresh is None or fresh.branch != topic.conversation.branch:
            return False
        found = Topic.objects.filter(pk=topic.pk, summarised_through=topic.summarised_through)
        kept = found.update(summary=summary, summarised_through=through)
    topic.summary, topic.summarised_through = summary, through
    return bool(kept)


def pack(topic: Topic) -> int:
    """Move the contents of a topic's older messages into its archive, and return how many.

    They join what was packed before: one archive a topic. One transaction; what leaves has been summed up
    before it.
    """
    with transaction.atomic():
        fresh = Conversation.objects.select_for_update().get(pk=topic.conversation_id)
        # What was replaced meanwhile has not been summed up.
        rows = to_pack(topic) if fresh.branch == topic.conversation.branch else []
        if not rows:
            return 0
        contents = {m.seq: m.content for m in rows}
        whole = []
        for archive in topic.archives.all():
            # A damaged one stays beside the new one: somebody may mend it.
            if older := read(archive):
                contents |= older
                whole.append(archive.pk)
        stored = packed(contents)
        new = TopicArchive.objects.create(
            topic=topic,
            data=stored.data,
            sha256=stored.sha256,
            count=len(contents),
            created_at=timezone.now(),
        )
        Message.objects.filter(archive__in=whole).update(archive=new)
        Message.objects.filter(pk__in=[m.pk for m in rows]).update(archive=new, content="")
        TopicArchive.objects.filter(pk__in=whole).delete()
    return len(rows)


def unpack(topic: Topic) -> int:
    """Put a topic's packed contents back where they were, and return how many; a damaged archive stays."""
    with transaction.atomic():
        return restore(topic)


def restore(topic: Topic) -> int:
    """Do what `unpack` does in the caller's transaction."""
    restored = 0
    for archive in topic.archives.all():
        try:
            contents = unpacked(bytes(archive.data), archive.sha256)
        except CorruptArchive as damage:
            logger.error("an archive is damaged: %s", damage, extra={"archive": str(archive.pk)})
            continue
        restored += _put_back(archive, contents)
        archive.delete()
    return restored


def _put_back(archive: TopicArchive, contents: dict[int, str]) -> int:
    """Fill the rows of an archive: one statement a row, prepared once, takes a tenth of `bulk_update`."""
    places = list(archive.messages.values_list("seq", flat=True))
    key = archive._meta.pk.get_db_prep_value(archive.pk, connection)
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE chat_message SET content = %s, archive_id = NULL WHERE archive_id = %s AND seq = %s",
            [(contents.get(seq) or lost(), key, seq) for seq in places],
        )
    return len(places)
