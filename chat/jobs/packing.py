"""Packs the older messages of a topic that was left, summed up first."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from chat.actions import storage
from chat.actions.accounts import accounted
from chat.actions.owners import redacts
from chat.context import summary
from chat.llm.registry import ModelState, registry
from chat.llm.types import ModelNotReady, Provider, ProviderError, Unfinished
from chat.models import Message, Topic

from .registry import Postpone, handles
from .thrift import wait_for_energy

logger = logging.getLogger(__name__)

_AGAIN = timedelta(seconds=5)


@handles("pack_topic", slow=True)
def pack_topic(payload: dict[str, Any]) -> None:
    """Sum up what leaves the topic, and move it to the archive; raises Postpone while it has to wait.

    A model that is missing or fails costs the summary, never the packing.
    """
    there = Topic.objects.filter(conversation__deletion=None).select_related("conversation")
    topic = there.filter(pk=payload["topic"]).first()
    if topic is not None and (rows := storage.to_pack(topic)):
        storage.pack(topic, _summed_up(topic, rows))


def _summed_up(topic: Topic, rows: Sequence[Message]) -> str:
    """Return the topic's summary continued over these messages, nothing where that failed."""
    # What came back and is packed again has been summed up before.
    fresh = [m for m in rows if m.seq > topic.summarised_through]
    if not fresh:
        return ""
    text = topic.summary
    try:
        provider = registry.provider()
        wait_for_energy()
        for portion in summary.portions(provider, fresh):
            text = _continued(provider, topic, text, portion)
    except ModelNotReady as reason:
        if registry.status().state is ModelState.LOADING:
            raise Postpone(timezone.now() + _AGAIN) from reason
        return ""
    except Unfinished as stopped:
        raise Postpone(timezone.now() + _AGAIN) from stopped
    except ProviderError:
        logger.warning("a topic is packed without a summary", exc_info=True)
        return ""
    return "" if text == topic.summary else text


def _continued(provider: Provider, topic: Topic, text: str, portion: Sequence[Message]) -> str:
    owner = topic.conversation.owner_id
    try:
        with accounted(provider, owner) as asked:
            return summary.summarise(asked, text, portion, redacting=redacts(owner))
    except summary.SummaryFailed:
        logger.warning("a part of a topic was not summed up")
        return text
