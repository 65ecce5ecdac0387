"""Marks the parts of messages that memory must not use: what the user asked not to save, and the sentences
that say a forgotten fact. An undo removes the marks of its deletion.

The sources of a fact are marked together with its deletion. The owner's other messages are searched in the
background, and again before the deletion is final where that has not happened.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import islice
from operator import or_
from typing import Any
from uuid import UUID

import numpy as np
from django.db import transaction
from django.db.models import Q, QuerySet

from chat.llm.embedder import Embedder
from chat.memory import kept_out
from chat.memory.consolidate import compute_similarity
from chat.memory.cosines import get_thresholds
from chat.memory.forgotten_sentences import SentenceFinder, find_source_spans
from chat.memory.kept_out import Span
from chat.memory.mask import count_words
from chat.memory.sentences import find_sentence_spans
from chat.memory.summary_sentences import split_sentences
from chat.models import (
    AppMemory,
    Conversation,
    Deletion,
    Fact,
    FactEvent,
    Message,
    MessageState,
    Role,
    Topic,
    User,
)
from chat.topics.contents import load_contents

from . import app_memories, jobs, tombstones
from .owners import lock_memory

# How many messages are read from the database at a time.
_PORTION = 500
# Up to this many words the database searches for each word. With more, reading all messages costs less.
_MANY_WORDS = 20
# How many of the newest sentences are compared by meaning; a vector takes some milliseconds.
_MAX_COMPARED = 200

# Fewer words say a fact only beside other sentences.
_LEAST_WORDS = 3

Found = Mapping[UUID, Sequence[Span]]


def mark_requested(message: Message, *, whole: bool = False) -> None:
    """Mark the sentences that a message asks not to save, or with `whole` the whole message. One transaction.

    The content must be loaded. May embed sentences, so call it outside a transaction.
    """
    spans = [(0, len(message.content))] if whole else kept_out.find_requested_spans(message.content)
    new = [list(span) for span in spans if list(span) not in message.kept_out]
    if not new:
        return
    with transaction.atomic():
        row = Message.objects.select_for_update().only("kept_out").filter(pk=message.pk).first()
        if row is None:
            return
        row.kept_out = [*row.kept_out, *(mark for mark in new if mark not in row.kept_out)]
        row.save(update_fields=["kept_out"])
        Conversation.objects.filter(pk=message.conversation_id).update(prepared=None)
    message.kept_out = row.kept_out


def mark_sources(deletion: Deletion, facts: Sequence[Fact]) -> None:
    """Mark the sentences of the facts' own sources, and queue the search in all other messages.

    In the transaction that creates the deletion.
    """
    found: dict[UUID, list[Span]] = {}
    said_in = _find_sources(deletion, facts)
    for message in load_contents(Message.objects.for_owner(deletion.owner).filter(pk__in=said_in)):
        said = said_in[message.pk]
        quotes = [part for fact in said for part in fact.quote.split(" … ") if part]
        found[message.pk] = find_source_spans(message.content, [fact.text for fact in said], quotes)
    _add_marks(deletion, found)
    jobs.enqueue("mark_forgotten", {"deletion": str(deletion.pk)}, key=f"mark_forgotten:{deletion.pk}")


def mark_everywhere(deletion: Deletion, embedder: Embedder | None = None) -> None:
    """Mark the sentences of all messages from before a pending deletion that say its facts.

    Reads without a transaction, and writes in one short one. Idempotent.
    """
    pending = Deletion.objects.pending().filter(pk=deletion.pk, is_searched=False, retraction__isnull=True)
    if deletion.whole or not pending.exists():
        return
    facts = list(Fact.objects.filter(deletion=deletion))
    finder = SentenceFinder.from_texts(Fact.objects.filter(deletion=deletion).all_texts())
    if not finder.wordings:
        return
    messages = Message.objects.for_owner(deletion.owner).said_by(deletion.pressed_at)
    messages = messages.filter(role__in=(Role.USER, Role.ASSISTANT))
    found, similar = _search(messages.exclude(state=MessageState.STREAMING), finder)
    if embedder is not None:
        for key, span in _compare(similar[-_MAX_COMPARED:], facts, embedder):
            found[key].append(span)
    with transaction.atomic():
        lock_memory(deletion.owner_id)
        current = pending.first()
        if current is None:
            return
        _add_marks(current, found)
        # A reply that is being written now may say the fact too, so it is searched once more.
        is_writing = messages.filter(state=MessageState.STREAMING).exists()
        Deletion.objects.filter(pk=deletion.pk).update(is_searched=not is_writing)


def unmark(deletion: Deletion) -> None:
    """Remove the marks of a deletion; in the transaction of its undo."""
    # Read the marks anew: the search may have added some since `deletion` was loaded.
    deletion.refresh_from_db(fields=["marked_messages"])
    marked = list(Message.objects.filter(pk__in=deletion.marked_messages).only("kept_out"))
    for message in marked:
        message.kept_out = [mark for mark in message.kept_out if str(deletion.pk) not in mark]
    Message.objects.bulk_update(marked, ["kept_out"], batch_size=_PORTION)
    Deletion.objects.filter(pk=deletion.pk).update(marked_messages=[])


def hash_marked_sentences(deletion: Deletion) -> set[str]:
    """Return the digests of the sentences that a deletion has marked, so that an import marks them again.

    Sentences of one or two words ("Yes.") are left out: they say a fact only beside others.
    """
    digests = set()
    rows = Message.objects.filter(pk__in=deletion.marked_messages).only(
        "content", "archive", "kept_out", "seq"
    )
    for message in load_contents(rows):
        marks = [(mark[0], mark[1]) for mark in message.kept_out if str(deletion.pk) in mark]
        for start, end in find_sentence_spans(message.content):
            sentence = message.content[start:end]
            if (
                any(start < until and since < end for since, until in marks)
                and count_words(sentence) >= _LEAST_WORDS
            ):
                digests.add(tombstones.hash_sentence(deletion.owner, sentence))
    return digests


def remove_from_summaries(owner: User, wordings: Iterable[str]) -> None:
    """Remove the sentences that say deleted facts from the summaries of conversations and topics and from app
    memories.

    In the transaction that deletes the facts.
    """
    finder = SentenceFinder.from_texts(wordings)
    mine = Conversation.objects.for_owner(owner).exclude(summary="", prompt_summary="")
    conversations = mine.only("summary", "prompt_summary")
    topics = Topic.objects.filter(conversation__owner=owner).exclude(summary="").only("summary")
    changed = [row for row in conversations if _clean(row, finder, "summary", "prompt_summary")]
    Conversation.objects.bulk_update(changed, ["summary", "prompt_summary"], batch_size=_PORTION)
    changed_topics = [row for row in topics if _clean(row, finder, "summary")]
    Topic.objects.bulk_update(changed_topics, ["summary"], batch_size=_PORTION)
    if changed:
        jobs.enqueue("free_caches", {"conversations": sorted(str(row.pk) for row in changed)})
    memories = AppMemory.objects.for_owner(owner)
    app_memories.replace_contents(owner, [row for row in memories if _clean(row, finder, "content")])


def _find_sources(deletion: Deletion, facts: Sequence[Fact]) -> dict[UUID, list[Fact]]:
    """Return the facts by the messages that taught them or asked to forget them."""
    by_id = {fact.pk: fact for fact in facts}
    events = FactEvent.objects.filter(fact__in=by_id, source_message__isnull=False).order_by()
    pairs = set(events.values_list("fact", "source_message"))
    pairs |= {(fact.pk, fact.source_message_id) for fact in facts if fact.source_message_id}
    if deletion.message_id is not None:
        pairs |= {(key, deletion.message_id) for key in by_id}
    said_in: dict[UUID, list[Fact]] = defaultdict(list)
    for key, message in pairs:
        said_in[message].append(by_id[key])
    return said_in


def _add_marks(deletion: Deletion, found: Found) -> None:
    keys = [key for key, spans in found.items() if spans]
    rows = list(Message.objects.filter(pk__in=keys).only("conversation", "kept_out"))
    for message in rows:
        new = [[start, end, str(deletion.pk)] for start, end in found[message.pk]]
        message.kept_out = [*message.kept_out, *(mark for mark in new if mark not in message.kept_out)]
    Message.objects.bulk_update(rows, ["kept_out"], batch_size=_PORTION)
    deletion.marked_messages = sorted({*deletion.marked_messages, *(str(message.pk) for message in rows)})
    deletion.save(update_fields=["marked_messages"])
    # A compaction that was prepared before may contain a summary with these sentences.
    touched = {message.conversation_id for message in rows}
    Conversation.objects.filter(pk__in=touched, prepared__isnull=False).update(prepared=None)


def _search(
    messages: QuerySet[Message], finder: SentenceFinder
) -> tuple[dict[UUID, list[Span]], list[tuple[UUID, Span, str]]]:
    """Return the spans that say one of the facts by words, and the user's sentences that share a word."""
    found: dict[UUID, list[Span]] = defaultdict(list)
    similar: list[tuple[UUID, Span, str]] = []
    for message in _load_portions(_select_candidates(messages, finder)):
        if not finder.may_occur_in(message.content):
            continue
        for start, end in find_sentence_spans(message.content):
            sentence = message.content[start:end]
            if finder.says(sentence):
                found[message.pk].append((start, end))
            elif message.role == Role.USER and finder.find_near(sentence):
                similar.append((message.pk, (start, end), sentence))
    return found, similar


def _select_candidates(messages: QuerySet[Message], finder: SentenceFinder) -> QuerySet[Message]:
    """Return the messages that may have one of the words; packed ones are read to know it."""
    heads = sorted(finder.by_head)
    if not heads or len(heads) > _MANY_WORDS or not all(map(str.isascii, heads)):
        # SQLite ignores case only in ASCII letters.
        return messages
    has_word = reduce(or_, (Q(content__icontains=head) for head in heads))
    return messages.filter(has_word | Q(archive__isnull=False))


def _load_portions(messages: QuerySet[Message]) -> Iterator[Message]:
    fields = messages.only("content", "role", "seq", "archive", "created_at").order_by("created_at", "pk")
    rows = fields.iterator(_PORTION)
    while portion := list(islice(rows, _PORTION)):
        yield from load_contents(portion)


def _compare(
    similar: Sequence[tuple[UUID, Span, str]], facts: Sequence[Fact], embedder: Embedder
) -> Iterator[tuple[UUID, Span]]:
    """Yield the sentences whose meaning is that of a fact."""
    vectors = embedder.embed([sentence for _, _, sentence in similar])
    least = get_thresholds(embedder.name).same_contained
    for (key, span, _), vector in zip(similar, vectors, strict=True):
        near = (compute_similarity(vector.astype(np.float32), fact, embedder.name) for fact in facts)
        if any(cosine is not None and cosine >= least for cosine in near):
            yield key, span


def _clean(row: Any, finder: SentenceFinder, *fields: str) -> bool:
    """Remove the sentences that say one of the facts from these fields; returns whether there were any."""
    is_changed = False
    for field in fields:
        sentences = split_sentences(getattr(row, field))
        remaining = [sentence for sentence in sentences if not finder.says(sentence)]
        if len(remaining) < len(sentences):
            setattr(row, field, " ".join(remaining))
            is_changed = True
    return is_changed
