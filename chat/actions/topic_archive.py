"""Archives of topics' older messages: which may be packed, packing and unpacking.

Prompts repeat messages word for word, so only messages that no prompt contains any more may be packed: those
of inactive topics after a compaction. A conversation that only programs write in has no prompts, so any topic
is packed as soon as it has too many messages (`pack_long_topics`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, F, Q
from django.utils import timezone

from chat.models import Conversation, Message, MessageState, PromptReport, Topic, TopicArchive
from chat.models.message import MessageQuerySet
from chat.topics.contents import get_lost_content_text, is_content_lost, load_contents, read_archive
from chat.topics.pack import CorruptArchive
from chat.topics.pack import pack_contents as packed
from chat.topics.pack import unpack_contents as unpacked
from chat.topics.rules import DEFAULT_RULES, TopicRules

from . import jobs

logger = logging.getLogger(__name__)

MAX_LIVE = DEFAULT_RULES.max_messages_per_topic
# The columns that decide about packing; other columns may be large.
_WATERMARKS = ("trimmed_through", "extracted_through", "imported_through", "kept")
KEPT_LIVE = DEFAULT_RULES.recent_message_keep


def list_placed_messages(conversation_id: Any) -> MessageQuerySet:
    """Return the messages of a conversation that have a topic, the newest first."""
    return (
        Message.objects.filter(conversation=conversation_id, topic__isnull=False)
        .current_branch()
        .order_by("-seq")
    )


def find_active_topic(conversation_id: Any) -> Any:
    """Return the key of the topic of the last message that has one, or None."""
    return list_placed_messages(conversation_id).values_list("topic", flat=True).first()


def find_packable(conversation: Conversation) -> MessageQuerySet:
    """Return the messages whose content may be packed, oldest first.

    They are finished, read by memory, left out of the prompt and not flagged.
    """
    through = min(conversation.trimmed_through, conversation.extraction_through)
    return _list_live_messages(conversation.pk).filter(seq__lte=through).exclude(seq__in=conversation.kept)


def find_topics_to_pack(conversation_id: Any, active: Any) -> list[Any]:
    """Return the keys of the topics with more than `MAX_LIVE` messages to pack, except the active one."""
    conversation = Conversation.objects.only(*_WATERMARKS).get(pk=conversation_id)
    if min(conversation.trimmed_through, conversation.extraction_through) <= MAX_LIVE:
        return []
    counts = (
        find_packable(conversation).exclude(topic=active).order_by().values("topic").annotate(n=Count("pk"))
    )
    return [row["topic"] for row in counts if row["n"] > MAX_LIVE]


def list_messages_to_pack(topic: Topic) -> list[Message]:
    """Return the messages that packing a topic would move now, oldest first; none for the active topic."""
    conversation = Conversation.objects.get(pk=topic.conversation_id)
    if find_active_topic(conversation.pk) == topic.pk:
        return []
    live = Message.objects.filter(topic=topic, archive__isnull=True).current_branch().exclude(content="")
    keys = list(live.values_list("pk", flat=True))
    if len(keys) <= MAX_LIVE:
        return []
    return list(find_packable(conversation).filter(topic=topic).exclude(pk__in=keys[-KEPT_LIVE:]))


def record_topic_summary(topic: Topic, summary: str, through: int) -> bool:
    """Store the summary of a topic's messages through a `seq`, in the row and in `topic`.

    Returns False when the topic or its conversation is gone or was summarised meanwhile, or messages were
    replaced since `topic` was read.
    """
    with transaction.atomic():
        matching = Conversation.objects.select_for_update().not_deleted().filter(pk=topic.conversation_id)
        fresh = matching.first()
        if fresh is None or fresh.branch != topic.conversation.branch:
            return False
        found = Topic.objects.filter(pk=topic.pk, summarised_through=topic.summarised_through)
        kept = found.update(summary=summary, summarised_through=through)
    topic.summary, topic.summarised_through = summary, through
    return bool(kept)


def pack_topic(topic: Topic) -> int:
    """Move the contents of a topic's older messages into its archive; returns how many.

    One transaction. Summarise the messages before.
    """
    with transaction.atomic():
        fresh = Conversation.objects.select_for_update().get(pk=topic.conversation_id)
        # Messages replaced meanwhile are not in the summary.
        rows = list_messages_to_pack(topic) if fresh.branch == topic.conversation.branch else []
        _archive_messages(topic, rows)
    return len(rows)


def pack_long_topics(conversation_id: Any, rules: TopicRules = DEFAULT_RULES) -> int:
    """Pack the topics with too many messages in a conversation without prompts; returns how many.

    Each keeps its newest `recent_message_keep` messages. Of the active topic, messages from before it came
    back are not counted, so that what was restored stays. Flagged messages are not packed. The summary is
    written afterwards: a job for a process with a model is queued. One transaction.
    """
    with transaction.atomic():
        # Locks out a process that is packing the same topic.
        held = Conversation.objects.select_for_update().not_deleted().only("owner_id")
        conversation = held.filter(pk=conversation_id).first()
        if conversation is None:
            return 0
        live = _list_live_messages(conversation_id)
        since = Count("pk", filter=Q(seq__gt=F("topic__restored_through")))
        counts = live.order_by().values("topic").annotate(n=Count("pk"), since=since)
        most = rules.max_messages_per_topic
        long = list(counts.filter(n__gt=most))
        if not long or PromptReport.objects.filter(reply__conversation=conversation_id).exists():
            return 0
        active = find_active_topic(conversation_id)
        keys = [row["topic"] for row in long if row["topic"] != active or row["since"] > most]
        for topic in Topic.objects.filter(pk__in=keys):
            rows = list(live.filter(topic=topic).order_by("seq"))
            _archive_messages(topic, rows[: len(rows) - rules.recent_message_keep])
            jobs.enqueue(
                "pack_topic",
                {"topic": str(topic.pk)},
                key=f"pack_topic:{topic.pk}",
                owner_id=conversation.owner_id,
            )
    return len(keys)


def _list_live_messages(conversation_id: Any) -> MessageQuerySet:
    """Return the finished messages of a conversation's topics that are neither packed nor flagged."""
    shown = Message.objects.filter(conversation=conversation_id).current_branch()
    live = shown.filter(topic__isnull=False, archive__isnull=True, flagged=False)
    return live.exclude(content="").exclude(state=MessageState.STREAMING)


def list_unsummarised_messages(topic: Topic) -> list[Message]:
    """Return the packed messages that the topic's summary does not cover yet, with contents, oldest first."""
    packed_rows = Message.objects.filter(topic=topic, archive__isnull=False, seq__gt=topic.summarised_through)
    found = load_contents(packed_rows.current_branch())
    return [m for m in found if not is_content_lost(m)]


def _archive_messages(topic: Topic, rows: Sequence[Message]) -> None:
    """Move the contents of these messages into the topic's archive; in the caller's transaction.

    They are merged with an earlier archive, so that a topic has one.
    """
    if not rows:
        return
    contents = {m.seq: m.content for m in rows}
    merged = []
    for archive in topic.archives.all():
        # A damaged archive is kept beside the new one, because it may be repairable.
        if older := read_archive(archive):
            contents |= older
            merged.append(archive.pk)
    stored = packed(contents)
    new = TopicArchive.objects.create(
        topic=topic,
        data=stored.data,
        sha256=stored.sha256,
        count=len(contents),
        created_at=timezone.now(),
    )
    Message.objects.filter(archive__in=merged).update(archive=new)
    Message.objects.filter(pk__in=[m.pk for m in rows]).update(archive=new, content="")
    TopicArchive.objects.filter(pk__in=merged).delete()


def unpack_topic(topic: Topic) -> int:
    """Restore the packed contents of a topic's messages; returns how many. A damaged archive stays."""
    with transaction.atomic():
        return unpack_in_transaction(topic)


def unpack_in_transaction(topic: Topic) -> int:
    """Unpack a topic as `unpack_topic` does, in the caller's transaction."""
    restored = 0
    for archive in topic.archives.all():
        try:
            contents = unpacked(bytes(archive.data), archive.sha256)
        except CorruptArchive as damage:
            logger.error("topic archive is damaged: %s", damage, extra={"archive": str(archive.pk)})
            continue
        restored += _restore_contents(archive, contents)
        archive.delete()
    return restored


def _restore_contents(archive: TopicArchive, contents: dict[int, str]) -> int:
    """Restore the rows of an archive with one prepared statement: a tenth of the time of `bulk_update`."""
    seqs = list(archive.messages.values_list("seq", flat=True))
    key = archive._meta.pk.get_db_prep_value(archive.pk, connection)
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE chat_message SET content = %s, archive_id = NULL WHERE archive_id = %s AND seq = %s",
            [(contents.get(seq) or get_lost_content_text(), key, seq) for seq in seqs],
        )
    return len(seqs)
