"""Keeps the index of past conversations by meaning: windows of messages and their vectors.

A background job fills it, a portion of messages at a time. A window is deleted with its message. When the
embedder changes, all windows are made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from numpy.typing import NDArray

from chat.llm.embedder import Embedder
from chat.memory.kept_out import find_unusable_spans
from chat.models import Conversation, Message, MessageState, MessageWindow, Role
from chat.past_chats.windows import Span, build_embedded_text, find_quotable_spans, group_windows
from chat.topics.contents import load_contents

from . import jobs

SPEAKERS = (Role.USER, Role.ASSISTANT)
# How many messages are indexed in one transaction.
_PORTION = 50
# Earlier messages that are read for context: a request not to save the next message stands there.
_BEFORE = 2
# How many texts are embedded in one call. A reply that needs the embedder waits until the call ends, some ten
# milliseconds.
_BATCH = 8


def queue_windows() -> None:
    """Queue the indexing of new messages; in the caller's transaction."""
    jobs.enqueue("index_windows", {}, key="index_windows")


def find_conversations_without_windows() -> list[Any]:
    """Return the keys of the conversations with messages that are not indexed, the last updated first."""
    unindexed = Message.objects.filter(
        Q(archive__isnull=False) | ~Q(content=""), conversation=OuterRef("pk"), role__in=SPEAKERS
    ).filter(seq__gt=OuterRef("windows_through"))
    rows = Conversation.objects.filter(
        Exists(unindexed.exclude(state=MessageState.STREAMING)), temporary=False
    )
    return list(rows.order_by("-updated_at").values_list("pk", flat=True))


def drop_outdated_windows(embedder_name: str) -> None:
    """Delete all windows where some were made with another embedder, so that they are made again."""
    outdated = MessageWindow.objects.exclude(embedder=embedder_name)
    if outdated.exists():
        with transaction.atomic():
            MessageWindow.objects.all().delete()
            Conversation.objects.filter(windows_through__gt=0).update(windows_through=0)


def index_portion(conversation_id: Any, embedder: Embedder | None) -> int:
    """Index the next messages of a conversation; returns how many, 0 when all are indexed.

    Reads and embeds outside a transaction and writes in a short one. A reply that is being written, and what
    follows it, waits.
    """
    conversation = Conversation.objects.filter(pk=conversation_id, temporary=False).first()
    if conversation is None:
        return 0
    messages = _read_portion(conversation)
    new = [m for m in messages if m.seq > conversation.windows_through]
    if not new:
        return 0
    windows = _build_windows(conversation.owner_id, messages, new[0].seq)
    vectors = _embed([text for _, text in windows], embedder)
    for (window, _), vector in zip(windows, vectors, strict=True):
        window.vector = vector
        window.embedder = embedder.name if embedder else ""
    with transaction.atomic():
        current = Conversation.objects.select_for_update().filter(
            pk=conversation.pk, windows_through=conversation.windows_through
        )
        if not current.exists():
            # The conversation was deleted meanwhile, or a new embedder made all its windows outdated.
            return 0
        there = set(Message.objects.filter(pk__in=[m.pk for m in new]).values_list("pk", flat=True))
        MessageWindow.objects.bulk_create(w for w, _ in windows if w.message_id in there)
        current.update(windows_through=new[-1].seq)
    return len(new)


def _read_portion(conversation: Conversation) -> list[Message]:
    """Return the next messages to index, after the last ones that are indexed."""
    said = Message.objects.filter(conversation=conversation, role__in=SPEAKERS).order_by("seq")
    before = said.filter(seq__lte=conversation.windows_through).reverse()[:_BEFORE]
    new = []
    for message in said.filter(seq__gt=conversation.windows_through)[:_PORTION]:
        if message.state == MessageState.STREAMING:
            break
        new.append(message)
    return load_contents([*reversed(before), *new])


def _build_windows(owner_id: Any, messages: Sequence[Message], first: int) -> list[tuple[MessageWindow, str]]:
    """Return the windows of the messages from `seq` `first` on, with the texts to embed."""
    windows = []
    before = ""
    for message, left_out in zip(messages, find_unusable_spans(messages), strict=True):
        if message.seq >= first:
            sentences = find_quotable_spans(message.content, left_out)
            windows += [
                (_build_window(owner_id, message, span), build_embedded_text(message.content, span, before))
                for span in group_windows(message.content, sentences)
            ]
        before = "" if left_out else message.content
    return windows


def _build_window(owner_id: Any, message: Message, span: Span) -> MessageWindow:
    return MessageWindow(owner_id=owner_id, message_id=message.pk, start=span.start, end=span.end)


def _embed(texts: Sequence[str], embedder: Embedder | None) -> list[bytes]:
    if embedder is None:
        return [b""] * len(texts)
    return [
        packed
        for start in range(0, len(texts), _BATCH)
        for packed in map(pack_vector, embedder.embed(texts[start : start + _BATCH]))
    ]


def pack_vector(vector: NDArray[np.float32]) -> bytes:
    """Return a vector with one signed byte a dimension; its largest value becomes 127."""
    largest = float(np.abs(vector).max()) or 1.0
    return bytes(np.rint(vector * (127 / largest)).astype(np.int8).tobytes())
