"""Quotes past conversations in a prompt: decides whether a message needs them, and finds what it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, tzinfo
from itertools import dropwhile

from django.utils import timezone
from numpy import float32
from numpy.typing import NDArray

from chat.actions.owners import settings_of, time_zone_of
from chat.llm.embedder import Embedder, embed_text
from chat.llm.registry import registry
from chat.memory.date_language import load_date_language
from chat.memory.query_intent import is_greeting
from chat.models import Conversation, MemoryMode, Message, Quotation, Role
from chat.models.conversation import ConversationQuerySet
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
    rank_sentences,
    rerank_sentences,
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
# The most messages of the user that are searched for together with a follow-up to them.
_TOPIC_MESSAGES = 3
# Only the end of each is used, so many characters: behind a pasted text stands what is asked about it.
_TOPIC_CHARACTERS = 300
# Messages with at least this cosine ask for the same. Compared with "When do I fly to Lima again?", the same
# question in German has 0.9, a question for the day of the flight 0.8, one for what to see in Lima 0.6.
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
        assembly.quotations = {
            **assembly.quotations,
            message.seq: render(quoted, find_year(time_zone_of(conversation.owner_id), message)),
        }
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
    promising = keep_promising(ranked, room, quoted_before)
    zone = time_zone_of(conversation.owner_id)
    candidates = [build_quotation(zone, one.message, one.span) for one in promising]
    year = find_year(zone, message)
    return choose_quotations(candidates, room, count_tokens, lambda day: write_day(day, year))


def find_quoted_topic(message: Message) -> str:
    """Return the text of the user's last messages to which this one may be a follow-up.

    These are up to `_TOPIC_MESSAGES` messages, from the first with quotations on, and of each the last
    `_TOPIC_CHARACTERS`; "" where none has any.
    """
    asked = Message.objects.filter(conversation=message.conversation_id, role=Role.USER)
    last = list(asked.visible_before(message).reverse()[:_TOPIC_MESSAGES])
    rows = Quotation.objects.filter(message__in=[one.pk for one in last], irrelevant=False)
    quoted = set(rows.values_list("message", flat=True))
    earlier = list(dropwhile(lambda one: one.pk not in quoted, reversed(last)))
    return "\n".join(one.content[-_TOPIC_CHARACTERS:] for one in load_contents(earlier))


def find_needed_sentences(
    conversation: Conversation, text: str, embedder: Embedder | None, topic: str = ""
) -> tuple[Need, list[RankedSentence]]:
    """Return what a message needs of past conversations, and their sentences, the best first.

    A message that needs nothing gets no sentences. A follow-up such as "And the second one?" is read with its
    topic, see `find_quoted_topic`. Without an embedder, or weights for it, nothing is needed.
    """
    weights = load_weights(embedder.name) if embedder else None
    if embedder is None or weights is None:
        return Need.NOTHING, []
    try:
        vector = own_vector = embed_text(embedder, text)
        estimate = estimate_need(vector, weights)
        names = find_names(text, embedder.knows_word)
        follows = bool(topic) and is_follow_up(vector, weights)
        if follows:
            text = f"{text}\n{topic}"
            vector = embed_text(embedder, text)
        elif not names and not may_need(estimate, weights):
            return Need.NOTHING, []
        usable = list_other_conversations(conversation)
        if not usable.exists():
            return Need.NOTHING, []
        ranked = rank_sentences(conversation.owner, usable, text, embedder.name, vector)
        ranked = _leave_out_irrelevant(ranked, embedder, own_vector)
        if not ranked:
            return Need.NOTHING, []
        best = ranked[:_BEST]
        coverage, cosine = max(one.coverage for one in best), max(one.cosine for one in best)
        named = any(mentions_any(one.text, names) for one in best)
        need = Need.ASKS if follows else decide_need(estimate, coverage, cosine, weights, named=named)
        return need, [] if need == Need.NOTHING else rerank_sentences(ranked, embedder, vector)
    except OSError:
        # The embedder was removed since it was found.
        return Need.NOTHING, []


def _leave_out_irrelevant(
    ranked: Sequence[RankedSentence], embedder: Embedder, vector: NDArray[float32]
) -> list[RankedSentence]:
    """Return the sentences without those that the owner called irrelevant to a similar message.

    `vector` is that of the present message's own words. One query, and embeds the messages of such sentences.
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


def list_other_conversations(conversation: Conversation) -> ConversationQuerySet:
    """Return the conversations that prompts of this one may quote."""
    return list_usable_conversations(conversation.owner, conversation.app).exclude(pk=conversation.pk)


def build_quotation(zone: tzinfo, message: Message, span: Span) -> QuotedSentence:
    return QuotedSentence(
        message=message.pk,
        conversation=message.conversation_id,
        seq=message.seq,
        span=span,
        is_user=message.role == Role.USER,
        day=timezone.localtime(message.created_at, zone).date(),
        text=span.read(message.content),
    )


def render(quotations: Sequence[QuotedSentence], year: int = 0) -> str:
    """Return the text of the quotations for a message that was written in `year`, "" without any."""
    return render_quotations(quotations, lambda day: write_day(day, year))


def write_day(day: date, year: int) -> str:
    """Return a date in words, "3 March 2025"; in the year `year` without the year, "3 March".

    Each digit is a token of the default model.
    """
    written = load_date_language("en").write("day", day, bare=True)
    return written.removesuffix(f" {day.year}") if day.year == year else written


def find_year(zone: tzinfo, message: Message) -> int:
    """Return the year in which a message was written."""
    return timezone.localtime(message.created_at, zone).year
