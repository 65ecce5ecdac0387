"""Makes the next compaction of a conversation ready: sums up what will be left out, reads the next prompt."""

from __future__ import annotations

import logging
from typing import Any

from chat.actions import prompts
from chat.actions.accounts import accounted
from chat.actions.owners import redacts
from chat.context import budget, preparation, prepared, summary
from chat.context.strategies import summarises
from chat.llm.registry import registry
from chat.llm.types import Provider, Turn
from chat.models import Conversation, Message
from chat.topics.contents import with_contents

from .thrift import wait_for_energy
from .warm import read_in_advance

logger = logging.getLogger(__name__)


def prepare(payload: dict[str, Any]) -> None:
    """Sum up from 60 % of the window on, and read the next prompt from 70 % on; may raise ModelNotReady."""
    conversation = (
        Conversation.objects.kept().select_related("owner", "app").filter(pk=payload["conversation"]).first()
    )
    if conversation is None:
        return
    provider = registry.provider()
    ready = preparation.prepare(conversation, provider)
    if ready is None:
        return
    leaving = ready[0].shape.trimmed_through
    if summarises(conversation.manner) and _sum_up(provider, conversation, leaving):
        conversation.refresh_from_db()
        ready = preparation.prepare(conversation, provider) or ready
    more = ready[0].shape.trimmed_through > conversation.trimmed_through
    if more and budget.must_prepare(payload["tokens"], payload["window"]):
        wait_for_energy()
        _read_in_advance(provider, conversation, *ready)


def _sum_up(provider: Provider, conversation: Conversation, through: int) -> bool:
    """Continue the summary through that message; what the model cannot tell is left to trimming alone."""
    leaving = Message.objects.filter(
        conversation=conversation,
        seq__gt=max(conversation.summarised_through, conversation.cleared_through),
        seq__lte=through,
    ).shown()
    text, after = conversation.summary, conversation.summarised_through
    redacting = redacts(conversation.owner_id)
    for portion in summary.portions(provider, [m for m in with_contents(leaving) if m.content]):
        wait_for_energy()
        try:
            with accounted(provider, conversation.owner_id) as asked:
                text = summary.summarise(asked, text, portion, redacting=redacting)
        except summary.SummaryFailed:
            # Asked again it would say the same, and what comes after it would never be told.
            logger.warning("a part was not summed up")
        if not prompts.record_summary(conversation, text, after, portion[-1].seq):
            break
        after = portion[-1].seq
    return after > conversation.summarised_through


def _read_in_advance(
    provider: Provider, conversation: Conversation, ready: prepared.Prepared, turns: list[Turn]
) -> None:
    """Keep the next compaction, and let the model read it while nobody wants anything."""
    if prompts.record_prepared(conversation, ready):
        read_in_advance(provider, conversation, turns)
