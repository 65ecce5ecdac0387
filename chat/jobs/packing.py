"""Packs the older messages of a topic that was left, summed up first."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from chat.actions import storage
from chat.actions.accounts import accounted
from chat.actions.owners import redacts
from chat.context import summary
from chat.llm.registry import registry
from chat.llm.types import PromptTooLong, Provider
from chat.models import Message, Topic

from .registry import handles
from .thrift import wait_for_energy

logger = logging.getLogger(__name__)


@handles("pack_topic", slow=True)
def pack_topic(payload: dict[str, Any]) -> None:
    """Sum up what leaves the topic, and move it to the archive; raises Postpone while it has to wait.

    Portion by portion, each kept at once: what energy or the program's end interrupts goes on from there. A
    portion that the model cannot tell costs the summary that portion, never the packing.
    """
    there = Topic.objects.filter(conversation__deletion=None).select_related("conversation")
    topic = there.filter(pk=payload["topic"]).first()
    if topic is not None and (rows := storage.to_pack(topic)) and _sum_up(topic, rows):
        storage.pack(topic)


def _sum_up(topic: Topic, rows: Sequence[Message]) -> bool:
    """Continue the topic's summary over these messages; False where they were rewritten meanwhile."""
    # What came back and is packed again has been summed up before.
    fresh = [m for m in rows if m.seq > topic.summarised_through]
    if not fresh:
        return True
    provider = registry.provider()
    for portion in summary.portions(provider, fresh):
        wait_for_energy()
        text = _continued(provider, topic, portion)
        if not storage.record_summary(topic, text, portion[-1].seq):
            return False
    return True


def _continued(provider: Provider, topic: Topic, portion: Sequence[Message]) -> str:
    owner = topic.conversation.owner_id
    try:
        with accounted(provider, owner) as asked:
            return summary.summarise(asked, topic.summary, portion, redacting=redacts(owner))
    except (summary.SummaryFailed, PromptTooLong):
        logger.warning("a part of a topic was not summed up")
        return topic.summary
