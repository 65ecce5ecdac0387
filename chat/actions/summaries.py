"""Extends summaries by what the model writes, portion by portion; each portion is stored at once.

The functions block while the model writes: call them from a worker thread, outside any transaction. A process
that is killed loses the portion in work only, and the next call continues with it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from chat.context import summary
from chat.errors import PromptTooLong, UnusableOutput
from chat.llm.types import Provider
from chat.models import Conversation, Message, Topic
from chat.topics.contents import load_contents

from . import prompts, topic_archive
from .owners import redacts_secrets
from .usage import account_calls

logger = logging.getLogger(__name__)


def _do_nothing() -> None:
    """Stand in for a check that the caller does not need."""


def extend_conversation_summary(
    provider: Provider,
    conversation: Conversation,
    through: int,
    before_portion: Callable[[], None] = _do_nothing,
) -> bool:
    """Extend a conversation's summary up to the message with this `seq`; return whether it was extended.

    The new summary is also set in `conversation`. A portion that the model cannot summarise is skipped.
    `before_portion` is called before each call of the model. Raises ProviderError, and what it raises.
    """
    before = conversation.summarised_through
    leaving = Message.objects.filter(
        conversation=conversation,
        seq__gt=max(before, conversation.cleared_through),
        seq__lte=through,
    ).current_branch()
    for portion in summary.split_into_portions(
        provider, [m for m in load_contents(leaving) if not m.is_empty]
    ):
        before_portion()
        text = _summarise(provider, conversation, conversation.summary, portion)
        after, last = conversation.summarised_through, portion[-1].seq
        if not prompts.record_summary(conversation, text, after, last):
            break
        conversation.summary, conversation.summarised_through = text, last
    return conversation.summarised_through > before


def extend_topic_summary(
    provider: Provider,
    topic: Topic,
    messages: Sequence[Message],
    before_portion: Callable[[], None] = _do_nothing,
) -> bool:
    """Extend a topic's summary by these messages, with their contents; False where they were replaced since.

    Messages that it covers are skipped; so is a portion that the model cannot summarise. `topic` needs its
    conversation. `before_portion` is called before each call of the model. Raises ProviderError, and what it
    raises.
    """
    # Messages that were unpacked and are packed again are in the summary already.
    fresh = [m for m in messages if m.seq > topic.summarised_through]
    for portion in summary.split_into_portions(provider, fresh):
        before_portion()
        text = _summarise(provider, topic.conversation, topic.summary, portion)
        if not topic_archive.record_topic_summary(topic, text, portion[-1].seq):
            return False
    return True


def _summarise(
    provider: Provider, conversation: Conversation, before: str, portion: Sequence[Message]
) -> str:
    """Return the summary `before`, extended by a portion, or unchanged where the model fails."""
    owner = conversation.owner_id
    try:
        with account_calls(provider, owner) as accounted:
            return summary.summarise(accounted, before, portion, redacting=redacts_secrets(owner))
    except (UnusableOutput, PromptTooLong):
        # A retry would fail the same way and block the summary of later messages.
        logger.warning(
            "a portion of the messages could not be summarised",
            extra={"conversation": str(conversation.pk), "through": portion[-1].seq},
        )
        return before
