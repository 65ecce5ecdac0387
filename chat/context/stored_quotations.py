"""Reads the quotations of earlier prompts again: for the history of a prompt, and for the page.

The words of a quotation are read from its message each time, so nothing is quoted any more of a message that
is deleted, hidden or kept out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from django.db.models import F

from chat.actions.owners import time_zone_of
from chat.models import Conversation, Message, Quotation, Role
from chat.past_chats.quotations import QuotedSentence
from chat.past_chats.ranking import load_readable_messages
from chat.past_chats.windows import Span

from .past_chats import build_quotation, find_year, list_other_conversations, may_quote, render


def load_quotations(
    conversation: Conversation, messages: Iterable[Message]
) -> Mapping[Any, Sequence[QuotedSentence]]:
    """Return the quotations in the notes of these messages, by the message's key, as far as they still may be
    quoted. Some queries, one where there are none; their number does not depend on that of quotations.
    """
    found = defaultdict(list)
    pairs = [(row, source) for row, source in _load_rows(conversation, messages) if not row.irrelevant]
    zone = time_zone_of(conversation.owner_id) if pairs else UTC
    for row, source in pairs:
        found[row.message_id].append(build_quotation(zone, source, Span(row.start, row.end)))
    return found


def _load_rows(
    conversation: Conversation, messages: Iterable[Message]
) -> Iterator[tuple[Quotation, Message]]:
    """Yield the quotations of these messages that still may be quoted, each with its source."""
    if not may_quote(conversation):
        return
    rows = list(
        Quotation.objects.filter(
            message__in=[m.pk for m in messages],
            source__replaced_by=None,
            source__seq__gt=F("source__conversation__cleared_through"),
        ).order_by("message", "place")
    )
    if not rows:
        return
    sources = load_readable_messages({row.source_id for row in rows})
    chats = {source.conversation_id for source in sources.values()}
    usable = set(list_other_conversations(conversation).filter(pk__in=chats).values_list("pk", flat=True))
    for row in rows:
        source, span = sources.get(row.source_id), Span(row.start, row.end)
        if source is None or source.conversation_id not in usable:
            continue
        if not any(span.overlaps(start, end) for start, end, *_ in source.kept_out):
            yield row, source


def render_history_quotations(conversation: Conversation, history: Iterable[Message]) -> dict[int, str]:
    """Return the quotations in the notes of earlier messages as text, by `seq`; none for most messages."""
    messages = list(history)
    quotations = load_quotations(conversation, messages)
    if not quotations:
        return {}
    zone = time_zone_of(conversation.owner_id)
    return {m.seq: render(quotations[m.pk], find_year(zone, m)) for m in messages if m.pk in quotations}


@dataclass(frozen=True, slots=True)
class ShownQuotation:
    """What the page shows of a `Quotation`; `id` is its key."""

    id: Any
    source: Message
    conversation: Conversation
    text: str
    irrelevant: bool


def list_quotations(reply: Message) -> list[ShownQuotation]:
    """Return the quotations in the prompt of a reply that may still be quoted, in their order."""
    asked = Message.objects.filter(conversation=reply.conversation, role=Role.USER, seq__lt=reply.seq)
    question = asked.current_branch().last()
    return [] if question is None else list_quotations_of(question)


def list_quotations_of(question: Message) -> list[ShownQuotation]:
    """Return the quotations for a user's message that may still be quoted, and those that are irrelevant."""
    pairs = list(_load_rows(question.conversation, [question]))
    chats = Conversation.objects.in_bulk({source.conversation_id for _, source in pairs})
    return [
        ShownQuotation(
            id=row.pk,
            source=source,
            conversation=chats[source.conversation_id],
            text=Span(row.start, row.end).read(source.content),
            irrelevant=row.irrelevant,
        )
        for row, source in pairs
        if source.conversation_id in chats
    ]
