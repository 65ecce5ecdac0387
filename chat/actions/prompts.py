"""Saves what a reply's prompt was made of, and what its making cost."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F, OuterRef, Q, Subquery
from django.utils import timezone

from chat.context import budget
from chat.llm.types import Usage
from chat.models import Conversation, Fact, MemoryMode, Message, PromptReport

from . import jobs
from .owners import hold_memory, zone_of

if TYPE_CHECKING:
    from chat.context.prepared import Prepared
    from chat.context.prompt import Prompt

# After memory has looked at the last message: that is shorter work.
_PREPARE_AFTER = timedelta(seconds=3)
# What a sweep sees to: to work one out takes some milliseconds, to find that nothing is to be done as well.
_RECENT, _AT_ONCE = timedelta(days=7), 20


def record_prompt(
    conversation: Conversation, asked: Message, reply: Message, prompt: Prompt, window: int
) -> None:
    """Keep block, note and trimming word for word, the report, and which facts were used today.

    Nothing where the reply has been deleted meanwhile.
    """
    with transaction.atomic():
        hold_memory(conversation.owner_id)
        if not Message.objects.filter(pk=reply.pk).exists():
            # Its conversation was deleted while the prompt was built.
            return
        _keep_block(conversation, prompt)
        Conversation.objects.filter(pk=conversation.pk).update(
            trimmed_through=prompt.shape.trimmed_through,
            kept=list(prompt.shape.kept),
            cuts={str(seq): keep for seq, keep in prompt.shape.cuts.items()},
            prompt_summary=prompt.shape.summary,
            # What was made ready has been used, or does not fit any more.
            **({"prepared": None} if prompt.stage else {}),
        )
        Message.objects.filter(pk=asked.pk).update(note=prompt.note)
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
        _mark_used(conversation.owner, prompt.facts, timezone.now())


def _keep_block(conversation: Conversation, prompt: Prompt) -> None:
    """Keep the block word for word, unless what it was built for has changed while it was built."""
    mine = Conversation.objects.filter(pk=conversation.pk)
    was = conversation.memory_block
    same = mine.filter(Q(memory_block__isnull=True) if was is None else Q(memory_block=was))
    same = same.filter(app=conversation.app_id, memory_mode=conversation.memory_mode)
    # A block that was not built must be, once memory is on again.
    off = conversation.memory_mode == MemoryMode.OFF
    text = None if off else prompt.block.text
    if not same.update(memory_block=text, memory_block_facts=prompt.block.facts):
        mine.update(memory_block=None, memory_block_facts={})


def _mark_used(owner: Any, ids: Collection[str], now: datetime) -> None:
    """Note that a prompt used these facts: at most once a day of the owner's, so a chatty day writes once."""
    midnight = timezone.localtime(now, zone_of(owner.pk)).replace(hour=0, minute=0, second=0, microsecond=0)
    stale = Q(last_used__lt=midnight) | Q(idle_days__gt=0)
    Fact.objects.for_owner(owner).filter(stale, pk__in=ids).update(last_used=now, idle_days=0)


def ask_to_prepare(conversation_id: Any, tokens: int, window: int) -> None:
    """Have the next compaction made ready, where a prompt of so many tokens is near to it."""
    if budget.may_need_summary(tokens, window):
        with transaction.atomic():
            jobs.enqueue(
                "prepare",
                {"conversation": str(conversation_id), "tokens": tokens, "window": window},
                key=f"prepare:{conversation_id}",
                run_after=timezone.now() + _PREPARE_AFTER,
            )


def lagging(now: datetime) -> list[tuple[Any, int, int]]:
    """Return conversations that are near to their window with nothing made ready and nobody at it.

    Each with the tokens of its last prompt and reply and its window, the last written first; two queries.
    """
    reports = PromptReport.objects.filter(reply__conversation=OuterRef("pk"), reply__replaced_by__isnull=True)
    newest = reports.order_by("-reply__seq").annotate(spent=F("prompt_tokens") + F("completion_tokens"))
    recent = Conversation.objects.kept().filter(updated_at__gt=now - _RECENT, prepared__isnull=True)
    rows = recent.annotate(
        spent=Subquery(newest.values("spent")[:1]), window=Subquery(newest.values("window")[:1])
    ).filter(spent__gt=budget.SUMMARISE_AT * F("window"))
    found = list(rows.order_by("-updated_at").values_list("pk", "spent", "window"))
    seen_to = jobs.known_keys(f"prepare:{row[0]}" for row in found)
    return [row for row in found if f"prepare:{row[0]}" not in seen_to][:_AT_ONCE]


def record_summary(conversation: Conversation, summary: str, after: int, through: int) -> bool:
    """Keep what was summed up of the messages from `after` on; False when another did so meanwhile.

    Nor when what was summed up has been replaced or cleared since.
    """
    kept = Conversation.objects.filter(
        pk=conversation.pk, summarised_through=after, branch=conversation.branch
    )
    return bool(kept.update(summary=summary, summarised_through=through))


def record_prepared(conversation: Conversation, ready: Prepared) -> bool:
    """Keep the next compaction; False when something that it was made from has changed meanwhile.

    A fact that was forgotten while the prompt was being read must not come back with it.
    """
    with transaction.atomic():
        fresh = Conversation.objects.select_for_update().get(pk=conversation.pk)
        known = Fact.objects.for_owner(conversation.owner).live().filter(pk__in=ready.block.facts)
        what = ("trimmed_through", "memory_mode", "branch", "app_id", "memory_block")
        same = all(getattr(fresh, name) == getattr(conversation, name) for name in what)
        if not same or known.count() != len(ready.block.facts):
            return False
        fresh.prepared = ready.as_json()
        fresh.save(update_fields=["prepared"])
    return True


def record_reply_cost(reply: Message, usage: Usage) -> None:
    """Complete the report of a reply with what the provider counted."""
    first = usage.first_token_seconds
    PromptReport.objects.filter(reply=reply).update(
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        first_token_ms=None if first is None else round(first * 1000),
    )
