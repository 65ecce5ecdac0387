"""Saves what a reply's prompt was made of, and what its making cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone

from chat.llm.types import Lane, Usage
from chat.models import Conversation, Fact, Message, PromptReport, UsageRecord

if TYPE_CHECKING:
    from chat.context.prompt import Prompt


def record_prompt(
    conversation: Conversation, asked: Message, reply: Message, prompt: Prompt, window: int
) -> None:
    """Keep block, note and trimming word for word, the report, and which facts were used today."""
    now = timezone.now()
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(
            memory_block=prompt.block,
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
        # At most once a day, so that a chatty day writes each fact once (design §3, last_used).
        today = now.replace(hour=0, minute=0, second=0, microsecond=0)
        Fact.objects.filter(pk__in=prompt.facts, last_used__lt=today).update(last_used=now)


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
