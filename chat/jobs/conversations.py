"""Background work on one conversation: its title, its end, and the archive of its topics."""

import logging
from datetime import timedelta
from functools import partial
from operator import attrgetter
from typing import Any

from django.utils import timezone

from chat.actions import (
    conversation_jobs,
    conversation_titles,
    conversations,
    erasure,
    jobs,
    processes,
    summaries,
    topic_archive,
)
from chat.actions.usage import account_calls
from chat.context import title
from chat.errors import PromptTooLong, UnusableOutput
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.llm.registry import registry
from chat.models import Topic

from .registry import Postpone, handles, wait_for_energy

logger = logging.getLogger(__name__)

_AFTER_REPLY = timedelta(seconds=3)


@handles("title", slow=True)
def generate_title(payload: dict[str, Any]) -> None:
    """Ask the model for a conversation's title.

    When it fails, the title stays the first words until the next reply requests the job again.
    """
    conversation = conversation_titles.find_untitled().filter(pk=payload["conversation"]).first()
    if conversation is None or not (messages := conversation_titles.list_opening_messages(conversation)):
        return
    if generation.count_running() or jobs.is_due_or_running("extract", conversation.owner_id):
        # The job would compete with the reply, or with an extraction, which is more important.
        raise Postpone(timezone.now() + _AFTER_REPLY)
    wait_for_energy(conversation.owner_id)
    try:
        with account_calls(registry.provider(), conversation.owner_id) as provider:
            found = title.generate_title(provider, messages)
    except (UnusableOutput, PromptTooLong):
        logger.info("no title was found")
        return
    conversation_titles.set_model_title(conversation.pk, found)


@handles("pack_topic", slow=True)
def pack_topic(payload: dict[str, Any]) -> None:
    """Summarise the older messages of a topic and move their contents to its archive.

    In a conversation without prompts they are in the archive already. Each portion's summary is saved at
    once, so an interrupted job continues with the next portion. A portion that the model cannot summarise is
    left out of the summary but packed all the same. Raises Postpone while energy is low.
    """
    there = Topic.objects.filter(conversation__deletion=None).select_related("conversation")
    topic = there.filter(pk=payload["topic"]).first()
    if topic is None:
        return
    leaving = topic_archive.list_messages_to_pack(topic)
    rows = sorted([*topic_archive.list_unsummarised_messages(topic), *leaving], key=attrgetter("seq"))
    wait = partial(wait_for_energy, topic.conversation.owner_id)
    if rows and summaries.extend_topic_summary(registry.provider(), topic, rows, wait):
        topic_archive.pack_topic(topic)


# How long a temporary conversation's reply may take to stop, in seconds.
_STOPPING_SECONDS = 1.0


@handles("end_idle", quick=True)
def end_idle(payload: dict[str, Any]) -> None:
    """End a conversation without messages and without an open page for IDLE_END."""
    now = timezone.now()
    # The page is open again, perhaps from a link: check again later.
    again = now + conversation_jobs.IDLE_END if _is_open(payload["conversation"]) else None
    again = again or conversations.end_if_idle(payload["conversation"], now)
    if again is not None:
        raise Postpone(again)


@handles("discard", quick=True)
def discard(payload: dict[str, Any]) -> None:
    """Delete temporary conversations whose pages were closed and not opened again."""
    for key in payload["conversations"]:
        if _is_open(key):
            # A page reports when it is closed; an API client that follows a reply does not.
            conversations.postpone_discard(key)
        else:
            generation.stop_in_conversation(key, timeout=_STOPPING_SECONDS)
            erasure.discard_temporary(key)


def _is_open(conversation: str) -> bool:
    """Return whether a conversation is open in a page, of this process or of another one."""
    return hub.is_watched(conversation) or processes.is_open_elsewhere(conversation)
