"""Saves what a reply's prompt was made of, and what its making cost."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chat.llm.types import Lane, Usage
from chat.models import Conversation, Fact, MemoryMode, Message, PromptReport, UsageRecord

from .owners import zone_of

if TYPE_CHECKING:
    from chat.context.prompt import Prompt


def record_prompt(
    conversation: Conversation, asked: Message, reply: Message, prompt: Prompt, window: int
) -> None:
    """Keep block, note and trimming word for word, the report, and which facts were used today."""
    off = conversation.memory_mode == MemoryMode.OFF
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(
            # A block that was not built must be, once memory is on again.
            memory_block=None if off else prompt.block,
            memory_block_facts=prompt.block_facts,
            trimmed_through=prompt.trimmed_through,
        )
        Message.objects.filter(pk=asked.pk).update(note=prompt.note)
        PromptReport.objects.update_or_create(
            reply=reply,
            defaults={
                "sections": prompt.sections,
                "facts": prompt.facts,
                "cut_messages": prompt.cut_messages,
                "prompt_tokens": prompt.tokens,
                "window": window,
            },
        )
        _mark_used(conversation.owner, prompt.facts, timezone.now())


def _mark_used(owner: Any, ids: Collection[str], now: datetime) -> None:
    """Note that a prompt used these facts: at most once a day of the owner's, so a chatty day writes once."""
    midnight = timezone.localtime(now, zone_of(owner.pk)).replace(hour=0, minute=0, second=0, microsecond=0)
    stale = Q(last_used__lt=midnight) | Q(idle_days__gt=0)
    Fact.objects.for_owner(owner).filter(stale, pk__in=ids).update(last_used=now, idle_days=0)


def record_usage(owner_id: int, purpose: str, lane: Lane, usage: Usage, outcome: str) -> None:
    """Keep one row a model call."""
    UsageRecord.objects.create(
        owner_id=owner_id,
        purpose=purpose,
        lane=lane.name.lower(),
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        seconds=round(usage.seconds, 3),
        outcome=outcome,
    )


def record_reply_cost(reply: Message, usage: Usage) -> None:
    """Complete the report of a reply with what the provider counted."""
    first = usage.first_token_seconds
    PromptReport.objects.filter(reply=reply).update(
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        first_token_ms=None if first is None else round(first * 1000),
    )
