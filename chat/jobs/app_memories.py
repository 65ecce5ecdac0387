"""Writes the app memory of a conversation that has ended, in the background."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from django.db import DatabaseError
from django.utils import timezone

from chat.actions import app_memories, jobs
from chat.actions.deletion_batch import UNDO_GRACE
from chat.actions.owners import redacts_secrets
from chat.actions.usage import account_calls
from chat.errors import ModelNotReady, ProviderError, Unfinished
from chat.generation import run as generation
from chat.llm.registry import registry
from chat.llm.time_limit import limit_time
from chat.llm.types import Provider
from chat.memory import app_memories as memory
from chat.memory import app_memory_eviction
from chat.models import AppMemory, Conversation, ExtractionRun, MemoryMode, Message, Role
from chat.topics.contents import load_contents
from memoryapp.base.logs import describe_error

from .registry import Postpone, handles, wait_for_energy

logger = logging.getLogger(__name__)

LONGEST_SECONDS = 30.0  # limit of one model call
_AFTER_REPLY = timedelta(seconds=3)
_AFTER_CHANGE = timedelta(seconds=10)
_NEWEST = 40  # messages; the summary covers the older ones


@handles("app_memory", slow=True)
def remember_conversation(payload: dict[str, Any]) -> None:
    """Write or rewrite the app memory of an ended conversation.

    When the model fails, nothing is changed. Raises Postpone while a reply or an extraction runs.
    """
    ended = Conversation.objects.listed().filter(memory_mode=MemoryMode.ON, ended_at__isnull=False)
    conversation = ended.select_related("app", "owner").filter(pk=payload["conversation"]).first()
    if conversation is None or not (said := _messages_to_remember(conversation)):
        return
    if generation.count_running() or jobs.is_due_or_running("extract", conversation.owner_id):
        # The job would compete with the reply, or with an extraction, which is more important.
        raise Postpone(timezone.now() + _AFTER_REPLY)
    wait_for_energy(conversation.owner_id)
    where = {"conversation": str(conversation.pk)}
    provider = registry.provider()
    try:
        written = _write_memory(provider, conversation, said)
        if written is None:
            return
        choice = _choose_replacement(provider, conversation, written)
    except (ModelNotReady, Unfinished):
        raise
    except ProviderError as problem:
        logger.warning("the app memory could not be written: %s", problem, extra=where)
        return
    stored = _store(conversation, written, _metadata(conversation, written, said), choice)
    if stored is None and ended.filter(pk=conversation.pk).exists():
        # The conversation was moved, or some of its messages replaced, while the model wrote: run again with
        # the current state.
        raise Postpone(timezone.now() + _AFTER_CHANGE)


def _messages_to_remember(conversation: Conversation) -> list[Message]:
    """Return the messages for the memory, oldest first; none where the memory covers all of them already."""
    own = AppMemory.objects.filter(source_conversation=conversation).select_related("deletion").first()
    if own is not None and own.deletion is not None:
        # After this time it is known whether the deletion was undone.
        raise Postpone(own.deletion.expires_at + 2 * UNDO_GRACE)
    if own is not None and own.edited:
        return []
    begin = max(conversation.app_memory_through, conversation.cleared_through)
    rows = Message.objects.filter(conversation=conversation, seq__gt=begin).current_branch()
    rows = rows.filter(role__in=(Role.USER, Role.ASSISTANT))
    last = rows.last()
    if last is None or (own is not None and own.metadata.get("through", 0) >= last.seq):
        return []
    newest = list(rows.order_by("-seq")[:_NEWEST])[::-1]
    return [m for m in load_contents(newest) if m.content]


def _write_memory(provider: Provider, conversation: Conversation, said: list[Message]) -> str | None:
    before, fresh = _earlier_summary(conversation, said)
    owner = conversation.owner_id
    with (
        account_calls(provider, owner) as asked,
        limit_time(LONGEST_SECONDS, min_worked=LONGEST_SECONDS / 2) as stop,
    ):
        return memory.write_app_memory(asked, fresh, before, redacting=redacts_secrets(owner), stop=stop)


def _earlier_summary(conversation: Conversation, said: list[Message]) -> tuple[str, list[Message]]:
    """Return the model's input: a summary of the earlier messages, and the later messages in full."""
    if conversation.app_memory_through > conversation.cleared_through:
        # Memory was off for some of the messages before: keep what the current app memory says of the earlier
        # ones.
        own = AppMemory.objects.filter(source_conversation=conversation).first()
        return (own.content if own else ""), said
    if conversation.cleared_through or conversation.summarised_through < said[0].seq:
        return "", said
    fresh = [m for m in said if m.seq > conversation.summarised_through]
    return conversation.summary, fresh or said


def _choose_replacement(
    provider: Provider, conversation: Conversation, text: str
) -> app_memory_eviction.AppMemoryChange | None:
    """Return which memory makes room where the app is full; None where none has to, or where the oldest
    should.
    """
    others = app_memories.list_eviction_candidates(conversation)
    if not others or AppMemory.objects.filter(source_conversation=conversation).exists():
        return None
    try:
        with (
            account_calls(provider, conversation.owner_id) as asked,
            limit_time(LONGEST_SECONDS, min_worked=LONGEST_SECONDS / 2) as stop,
        ):
            return app_memory_eviction.choose_memory_to_replace(asked, others, text, stop=stop)
    except (ModelNotReady, Unfinished):
        raise
    except ProviderError as problem:
        logger.warning(
            "the oldest app memory is removed, the model chose none: %s",
            problem,
            extra={"app": str(conversation.app_id)},
        )
        return None


def _store(
    conversation: Conversation,
    text: str,
    metadata: dict[str, Any],
    choice: app_memory_eviction.AppMemoryChange | None,
) -> AppMemory | None:
    """Store the memory, with a second attempt.

    Where the database refuses both attempts to apply the model's choice, the oldest memory makes room.
    """
    ids = {"app": str(conversation.app_id), "conversation": str(conversation.pk)}
    try:
        return app_memories.store_app_memory(conversation, text, metadata, choice)
    except DatabaseError as error:
        logger.warning(
            "the app memory could not be stored, trying again: %s", describe_error(error), extra=ids
        )
    try:
        return app_memories.store_app_memory(conversation, text, metadata, choice)
    except DatabaseError as error:
        if choice is None:
            # The job fails, and is tried again later.
            raise
        logger.warning(
            "the oldest app memory is removed, the chosen change could not be stored: %s",
            describe_error(error),
            extra=ids,
        )
    return app_memories.store_app_memory(conversation, text, metadata)


def _metadata(conversation: Conversation, text: str, said: list[Message]) -> dict[str, Any]:
    """Return the memory's importance (0-10), tags and watermark.

    The importance is counted from flagged messages and stored facts: that says more than a number from a
    small model.
    """
    learned = ExtractionRun.objects.filter(message__conversation=conversation, stored__gt=0).count()
    flagged = sum(m.flagged for m in said)
    asked = sum(m.role == Role.USER for m in said)
    importance = min(10, 1 + learned + 2 * flagged + asked // 3)
    tags = memory.extract_tags(text, said)
    return {"importance": importance, "tags": tags, "through": said[-1].seq, "related_conversations": []}
