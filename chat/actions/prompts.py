"""Stores what the prompt of a reply contained, the prepared compaction, and what the reply cost."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F, Max, OuterRef, Q, Subquery
from django.utils import timezone

from chat.context import budget
from chat.llm.types import Usage
from chat.models import Conversation, Fact, MemoryMode, Message, PromptReport, Quotation, User

from . import jobs
from .owners import lock_memory, time_zone_of

if TYPE_CHECKING:
    from chat.context.compaction import PrecomputedCompaction
    from chat.context.prompt import Prompt

# After the extraction of the last message, which takes less time.
_PREPARE_AFTER = timedelta(seconds=3)
# A sweep covers conversations of the last 7 days, 20 at a time; preparing one takes some milliseconds,
# finding that there is nothing to do takes as long.
_SWEEP_PERIOD, _SWEEP_LIMIT = timedelta(days=7), 20


def record_prompt(
    conversation: Conversation, asked: Message, reply: Message, prompt: Prompt, window: int
) -> None:
    """Store a prompt's memory block, turn note, trimming and report, and mark its facts as used today.

    Does nothing when the reply was deleted meanwhile.
    """
    with transaction.atomic():
        lock_memory(conversation.owner_id)
        if not Message.objects.filter(pk=reply.pk).exists():
            # Its conversation was deleted while the prompt was built.
            return
        _store_block(conversation, prompt)
        Conversation.objects.filter(pk=conversation.pk).update(
            trimmed_through=prompt.shape.trimmed_through,
            kept=list(prompt.shape.kept),
            cuts={str(seq): keep for seq, keep in prompt.shape.cuts.items()},
            prompt_summary=prompt.shape.summary,
            unquoted_through=prompt.shape.unquoted_through,
            # A compaction has used the prepared one, or made it outdated.
            **({"prepared": None} if prompt.stage else {}),
        )
        Message.objects.filter(pk=asked.pk).update(note=prompt.note)
        _store_quotations(asked, prompt)
        PromptReport.objects.update_or_create(
            reply=reply,
            defaults={
                "sections": prompt.sections,
                "facts": prompt.facts,
                "cut_messages": prompt.cut_messages,
                "stage": prompt.stage,
                "left_out": prompt.left_out,
                "shortened": prompt.shortened,
                "prompt_tokens": prompt.tokens,
                "window": window,
            },
        )
        _mark_facts_used(conversation.owner, prompt.facts, timezone.now())


def _store_quotations(asked: Message, prompt: Prompt) -> None:
    """Store the quotations of a message's prompt; those marked as irrelevant stay."""
    mine = Quotation.objects.filter(message=asked)
    mine.filter(irrelevant=False).delete()
    first = 1 + (mine.aggregate(last=Max("place"))["last"] or 0)
    there = set(
        Message.objects.filter(pk__in={one.message for one in prompt.quotations}).values_list("pk", flat=True)
    )
    Quotation.objects.bulk_create(
        Quotation(message=asked, source_id=one.message, start=one.span.start, end=one.span.end, place=place)
        for place, one in enumerate(prompt.quotations, first)
        if one.message in there
    )


def _store_block(conversation: Conversation, prompt: Prompt) -> None:
    """Store the memory block, unless its conversation changed while it was built."""
    this_row = Conversation.objects.filter(pk=conversation.pk)
    previous = conversation.memory_block
    unchanged = this_row.filter(
        Q(memory_block__isnull=True) if previous is None else Q(memory_block=previous)
    )
    unchanged = unchanged.filter(app=conversation.app_id, memory_mode=conversation.memory_mode)
    # NULL, so that the block is built once memory is on again.
    off = conversation.memory_mode == MemoryMode.OFF
    text = None if off else prompt.block.text
    if not unchanged.update(memory_block=text, memory_block_facts=prompt.block.facts):
        this_row.update(memory_block=None, memory_block_facts={})


def _mark_facts_used(owner: User, ids: Collection[str], now: datetime) -> None:
    """Set the last use of these facts, at most once per day of the owner's, which limits writes."""
    midnight = timezone.localtime(now, time_zone_of(owner.pk)).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    stale = Q(last_used__lt=midnight) | Q(idle_days__gt=0)
    Fact.objects.for_owner(owner).filter(stale, pk__in=ids).update(last_used=now, idle_days=0)


def queue_preparation(conversation_id: Any, tokens: int, window: int) -> None:
    """Queue the preparation of the next compaction if a prompt of this many tokens is near it."""
    if budget.should_summarise(tokens, window):
        with transaction.atomic():
            there = Conversation.objects.filter(pk=conversation_id)
            owner_id = there.values_list("owner_id", flat=True).first()
            jobs.enqueue(
                "prepare",
                {"conversation": str(conversation_id), "tokens": tokens, "window": window},
                key=f"prepare:{conversation_id}",
                owner_id=owner_id,
                run_after=timezone.now() + _PREPARE_AFTER,
            )


def find_unprepared(now: datetime) -> list[tuple[Any, int, int]]:
    """Return conversations near their window limit without a prepared compaction and without a job for it.

    Each is (key, tokens of its last prompt and reply, window), the last updated first. Two queries.
    """
    reports = PromptReport.objects.filter(reply__conversation=OuterRef("pk"), reply__replaced_by__isnull=True)
    newest = reports.order_by("-reply__seq").annotate(spent=F("prompt_tokens") + F("completion_tokens"))
    recent = Conversation.objects.not_deleted().filter(
        updated_at__gt=now - _SWEEP_PERIOD, prepared__isnull=True
    )
    rows = recent.annotate(
        spent=Subquery(newest.values("spent")[:1]), window=Subquery(newest.values("window")[:1])
    ).filter(spent__gt=budget.SUMMARISE_AT * F("window"))
    found = list(rows.order_by("-updated_at").values_list("pk", "spent", "window"))
    queued = jobs.find_open_keys(f"prepare:{row[0]}" for row in found)
    return [row for row in found if f"prepare:{row[0]}" not in queued][:_SWEEP_LIMIT]


def record_summary(conversation: Conversation, summary: str, after: int, through: int) -> bool:
    """Store the summary of the messages from `after` to `through`; returns False when it is outdated.

    It is outdated when another summary was stored, or a message was replaced or cleared meanwhile.
    """
    kept = Conversation.objects.filter(
        pk=conversation.pk, summarised_through=after, branch=conversation.branch
    )
    return bool(kept.update(summary=summary, summarised_through=through))


def record_prepared(conversation: Conversation, ready: PrecomputedCompaction) -> bool:
    """Store a prepared compaction; returns False when something it was built from changed meanwhile.

    A fact deleted while it was prepared must not come back with it.
    """
    with transaction.atomic():
        fresh = Conversation.objects.select_for_update().get(pk=conversation.pk)
        known = Fact.objects.for_owner(conversation.owner).live().filter(pk__in=ready.block.facts)
        columns = ("trimmed_through", "memory_mode", "branch", "app_id", "memory_block")
        unchanged = all(getattr(fresh, name) == getattr(conversation, name) for name in columns)
        if not unchanged or known.count() != len(ready.block.facts):
            return False
        fresh.prepared = ready.as_json()
        fresh.save(update_fields=["prepared"])
    return True


def record_reply_cost(reply: Message, usage: Usage) -> None:
    """Store in a reply's report its token counts, reasoning excluded, and the time to its first token."""
    first = usage.first_token_seconds
    PromptReport.objects.filter(reply=reply).update(
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.reply_tokens,
        first_token_ms=None if first is None else round(first * 1000),
    )
