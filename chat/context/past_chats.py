"""Quotes past conversations in a prompt: decides whether a message needs them, and finds what it needs.

The words of a quotation are read from its message each time, so nothing is quoted any more of a message that
is deleted, hidden or kept out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import dropwhile
from typing import Any

from django.db.models import F
from numpy import float32
from numpy.typing import NDArray

from chat.actions.owners import local_day_of, settings_of
from chat.llm.embedder import Embedder
from chat.llm.registry import registry
from chat.memory.date_language import load_date_language
from chat.memory.query_intent import is_greeting
from chat.models import Conversation, MemoryMode, Message, Quotation, Role
from chat.past_chats.names import find_names, mentions_any
from chat.past_chats.need_classifier import (
    Need,
    decide_need,
    estimate_need,
    is_follow_up,
    load_weights,
    may_need,
)
from chat.past_chats.quotations import QuotedSentence, choose_quotations, render_quotations
from chat.past_chats.ranking import (
    RankedSentence,
    keep_promising,
    list_usable_conversations,
    load_readable_messages,
    rank_sentences,
)
from chat.past_chats.windows import Span
from chat.topics.contents import load_contents
from memoryapp.base.provider import is_loopback

from .assembly import Assembly, join_notes
from .budget import MEMORY_MAX, max_prompt_tokens
from .memory import read_block_facts
from .reading_speed import measure_reading_speed

# Seconds of reading that the quotations may cost, by what the message needs. One second, some 50 tokens of
# the default model on two cores, holds the frame and one short sentence.
_SECONDS = {Need.ASKS: 3.0, Need.TOUCHES: 1.6}
# In tokens. Less holds the words around the quotations and no sentence.
_LEAST_ROOM = 45
# A follow-up is read with so many of the user's messages before it, at most.
_TOPIC_MESSAGES = 3
# The least cosine of two messages that ask for the same. Of "When do I fly to Lima again?", the same question
# in German has 0.9, one about the day 0.8, and one about what to see in Lima 0.6.
_SIMILAR_MESSAGE = 0.7
# The need of a message is decided by so many of the best sentences.
_BEST = 8


def may_quote(conversation: Conversation) -> bool:
    """Return whether prompts of this conversation may quote others to the present model."""
    if conversation.memory_mode == MemoryMode.OFF or not conversation.use_past_chats:
        return False
    chosen, model = settings_of(conversation.owner_id), registry.status()
    leaves_machine = model.remote and not is_loopback(model.host)
    return chosen.use_past_chats and (chosen.send_past_chats or not leaves_machine)


def add_quotations(conversation: Conversation, message: Message, assembly: Assembly) -> list[QuotedSentence]:
    """Add the quotations that a message needs to the assembly, and return them.

    The facts of the memory block, the note and the quotations have at most MEMORY_MAX tokens together.
    """
    count = assembly.provider.count_text
    spent = count(join_notes(read_block_facts(assembly.block), assembly.note))
    free = max_prompt_tokens(assembly.provider.context_window) - assembly.tokens()
    kept = {m.seq for m in assembly.kept_messages() if m.seq > assembly.shape.unquoted_through}
    before = "\n".join(text for seq, text in assembly.quotations.items() if seq in kept)
    quoted = find_quotations(conversation, message, min(MEMORY_MAX - spent, free), count, before)
    if quoted:
        assembly.quotations = {**assembly.quotations, message.seq: render(quoted)}
    return quoted


def find_quotations(
    conversation: Conversation,
    message: Message,
    room: int,
    count_tokens: Callable[[str], int],
    quoted_before: str = "",
) -> list[QuotedSentence]:
    """Return the sentences of past conversations that a message needs, at most `room` tokens together.

    Most messages need none. Embeds the message, so call it outside a transaction. `quoted_before` is the text
    of the quotations that the prompt contains already.
    """
    if room < _LEAST_ROOM or not may_quote(conversation) or is_greeting(message.content):
        return []
    topic = find_quoted_topic(message)
    need, ranked = find_needed_sentences(conversation, message.content, registry.embedder(), topic)
    if need == Need.NOTHING:
        return []
    room = min(room, round(_SECONDS[need] * measure_reading_speed(conversation.owner)))
    promising = keep_promising([one for one in ranked if one.text not in quoted_before], room)
    candidates = [_quote(conversation.owner_id, one.message, one.span) for one in promising]
    return choose_quotations(candidates, room, count_tokens, write_day)


def find_quoted_topic(message: Message) -> str:
    """Return what the user's last messages before this one were about, as their text.

    These are up to `_TOPIC_MESSAGES` messages, from the first with quotations on; "" where none has any.
    """
    asked = Message.objects.filter(conversation=message.conversation_id, role=Role.USER)
    last = list(asked.visible_before(message).reverse()[:_TOPIC_MESSAGES])
    rows = Quotation.objects.filter(message__in=[one.pk for one in last])
    quoted = set(rows.values_list("message", flat=True))
    earlier = list(dropwhile(lambda one: one.pk not in quoted, reversed(last)))
    return "\n".join(one.content for one in load_contents(earlier))


def find_needed_sentences(
    conversation: Conversation, text: str, embedder: Embedder | None, topic: str = ""
) -> tuple[Need, list[RankedSentence]]:
    """Return what a message needs of past conversations, and their sentences, the best first.

    A follow-up such as "And the second one?" is read with its topic, see `find_quoted_topic`. Without an
    embedder, or weights for it, nothing is needed.
    """
    weights = load_weights(embedder.name) if embedder else None
    if embedder is None or weights is None:
        return Need.NOTHING, []
    try:
        vector = embedder.embed([text])[0]
        estimate = estimate_need(vector, weights)
        names = find_names(text, embedder.knows_word)
        follows = bool(topic) and is_follow_up(vector, weights)
        if follows:
            text = f"{topic}\n{text}"
            vector = embedder.embed([text])[0]
        elif not names and not may_need(estimate, weights):
            return Need.NOTHING, []
        usable = _list_other_conversations(conversation)
        ranked = rank_sentences(conversation.owner, usable, text, embedder, vector)
        ranked = _leave_out_irrelevant(ranked, embedder, vector)
    except OSError:
        # The embedder was removed since it was found.
        return Need.NOTHING, []
    if not ranked:
        return Need.NOTHING, []
    if follows:
        return Need.ASKS, ranked
    best = ranked[:_BEST]
    coverage, cosine = max(one.coverage for one in best), max(one.cosine for one in best)
    named = any(mentions_any(one.text, names) for one in best)
    return decide_need(estimate, coverage, cosine, weights, named=named), ranked


def _leave_out_irrelevant(
    ranked: Sequence[RankedSentence], embedder: Embedder, vector: NDArray[float32]
) -> list[RankedSentence]:
    """Return the sentences without those that the owner called irrelevant to a similar message.

    `vector` is that of the present message. One query, and embeds the messages of such sentences.
    """
    marked = Quotation.objects.filter(irrelevant=True, source__in={one.message.pk for one in ranked})
    rows = list(marked.select_related("message"))
    if not rows:
        return list(ranked)
    asked = load_contents({row.message_id: row.message for row in rows}.values())
    cosines = embedder.embed([message.content for message in asked]) @ vector
    similar = {
        message.pk for message, cosine in zip(asked, cosines, strict=True) if cosine >= _SIMILAR_MESSAGE
    }
    spans = [(row.source_id, Span(row.start, row.end)) for row in rows if row.message_id in similar]
    return [
        one
        for one in ranked
        if not any(
            one.message.pk == source and span.overlaps(one.span.start, one.span.end) for source, span in spans
        )
    ]


def _list_other_conversations(conversation: Conversation) -> set[Any]:
    """Return the keys of the conversations that prompts of this one may quote."""
    return list_usable_conversations(conversation.owner, conversation.app) - {conversation.pk}


def _quote(owner_id: int, message: Message, span: Span) -> QuotedSentence:
    return QuotedSentence(
        message=message.pk,
        conversation=message.conversation_id,
        seq=message.seq,
        span=span,
        is_user=message.role == Role.USER,
        day=local_day_of(owner_id, message.created_at),
        text=span.read(message.content),
    )


def load_quotations(
    conversation: Conversation, messages: Iterable[Message]
) -> Mapping[Any, Sequence[QuotedSentence]]:
    """Return the quotations in the notes of these messages, by the message's key, as far as they still may be
    quoted. Three queries at most, one where there are none.
    """
    found = defaultdict(list)
    for row, source in _load_rows(conversation, messages):
        if not row.irrelevant:
            found[row.message_id].append(_quote(conversation.owner_id, source, Span(row.start, row.end)))
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
    usable = _list_other_conversations(conversation)
    sources = load_readable_messages({row.source_id for row in rows})
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
    return {m.seq: render(quotations[m.pk]) for m in messages if m.pk in quotations}


@dataclass(frozen=True, slots=True)
class ShownQuotation:
    """A quotation as the page shows it; `id` is that of its row."""

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


def render(quotations: Sequence[QuotedSentence]) -> str:
    """Return the quotations as they stand in a note, "" without any."""
    return render_quotations(quotations, write_day)


def write_day(day: date) -> str:
    """Return a day in words: "3 March 2026"."""
    return load_date_language("en").write("day", day, bare=True)
