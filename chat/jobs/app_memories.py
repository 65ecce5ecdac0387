"""Writes what an app remembers of an ended conversation, while nobody waits for the model (seed 003)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import OperationalError
from django.utils import timezone

from chat.actions import app_memories, jobs
from chat.actions.accounts import accounted
from chat.actions.deletions import GRACE
from chat.actions.owners import redacts
from chat.generation import run as generation
from chat.llm.registry import registry
from chat.llm.types import ModelNotReady, Provider, ProviderError, StopFlag, Unfinished
from chat.memory import app_choice
from chat.memory import app_memories as memory
from chat.models import AppMemory, Conversation, ExtractionRun, MemoryMode, Message, Role
from chat.topics.contents import with_contents

from .registry import Postpone, handles
from .thrift import wait_for_energy

logger = logging.getLogger(__name__)

LONGEST_SECONDS = 30.0  # seed 003, "30-second timeout, then skip"
_AFTER_REPLY = timedelta(seconds=3)
_AFTER_CHANGE = timedelta(seconds=10)
_NEWEST = 40  # messages: of a longer conversation the summary tells


class TookTooLong(ProviderError):
    """The model had its time and was not done."""


@handles("app_memory", slow=True)
def remember_conversation(payload: dict[str, Any]) -> None:
    """Have the model write the memory of an ended conversation; a failure leaves everything as it is."""
    ended = Conversation.objects.listed().filter(memory_mode=MemoryMode.ON, ended_at__isnull=False)
    conversation = ended.select_related("app", "owner").filter(pk=payload["conversation"]).first()
    if conversation is None or not (said := _unremembered(conversation)):
        return
    if generation.running() or jobs.is_wanted("extract"):
        # The model would only be taken from it, or from memory, which matters more.
        raise Postpone(timezone.now() + _AFTER_REPLY)
    wait_for_energy()
    where = {"conversation": str(conversation.pk)}
    provider = registry.provider()
    try:
        written = _written(provider, conversation, said)
        if written is None:
            return
        choice = _room_for(provider, conversation, written)
    except (ModelNotReady, Unfinished):
        raise
    except ProviderError as problem:
        logger.warning("no app memory was written: %s", problem, extra=where)
        return
    stored = _store(conversation, written, _metadata(conversation, written, said), choice)
    if stored is None and ended.filter(pk=conversation.pk).exists():
        # It was moved, or written anew in part, while the model told of it: once more, as it is now.
        raise Postpone(timezone.now() + _AFTER_CHANGE)


def _unremembered(conversation: Conversation) -> list[Message]:
    """Return what was said, the oldest first, where its memory does not tell of all of it yet."""
    own = AppMemory.objects.filter(source_conversation=conversation).select_related("deletion").first()
    if own is not None and own.deletion is not None:
        # Whether it comes back is known then.
        raise Postpone(own.deletion.expires_at + 2 * GRACE)
    if own is not None and own.edited:
        return []
    begin = max(conversation.told_through, conversation.cleared_through)
    rows = Message.objects.filter(conversation=conversation, seq__gt=begin).shown()
    rows = rows.filter(role__in=(Role.USER, Role.ASSISTANT))
    last = rows.last()
    if last is None or (own is not None and own.metadata.get("through", 0) >= last.seq):
        return []
    newest = list(rows.order_by("-seq")[:_NEWEST])[::-1]
    return [m for m in with_contents(newest) if m.content]


def _written(provider: Provider, conversation: Conversation, said: list[Message]) -> str | None:
    before, fresh = _before(conversation, said)
    owner = conversation.owner_id
    with accounted(provider, owner) as asked, _in_time() as stop:
        return memory.write(asked, fresh, before, redacting=redacts(owner), stop=stop)


def _before(conversation: Conversation, said: list[Message]) -> tuple[str, list[Message]]:
    """Return the account of what came before, and the messages that are told themselves."""
    if conversation.told_through > conversation.cleared_through:
        # Memory was not on in between: what the app remembers from before stays told.
        own = AppMemory.objects.filter(source_conversation=conversation).first()
        return (own.content if own else ""), said
    if conversation.cleared_through or conversation.summarised_through < said[0].seq:
        return "", said
    fresh = [m for m in said if m.seq > conversation.summarised_through]
    return conversation.summary, fresh or said


def _room_for(provider: Provider, conversation: Conversation, text: str) -> app_choice.Choice | None:
    """Return which memory makes way where the app is full; None where none must, or the oldest."""
    others = app_memories.room_for(conversation)
    if not others or AppMemory.objects.filter(source_conversation=conversation).exists():
        return None
    try:
        with accounted(provider, conversation.owner_id) as asked, _in_time() as stop:
            return app_choice.choose(asked, others, text, stop=stop)
    except (ModelNotReady, Unfinished):
        raise
    except ProviderError as problem:
        logger.warning(
            "the oldest app memory makes way: %s", problem, extra={"app": str(conversation.app_id)}
        )
        return None


def _store(
    conversation: Conversation, text: str, metadata: dict[str, Any], choice: app_choice.Choice | None
) -> AppMemory | None:
    try:
        return app_memories.store(conversation, text, metadata, choice)
    except OperationalError:
        # Once more, as the seed has it; what fails then is the job's failure, which is tried again later.
        return app_memories.store(conversation, text, metadata, choice)


def _metadata(conversation: Conversation, text: str, said: list[Message]) -> dict[str, Any]:
    """Return how much a memory matters, by what happened, and what it is about.

    Counted, not asked for: what the user marked and what memory learned say more than a small model's number.
    """
    learned = ExtractionRun.objects.filter(message__conversation=conversation, stored__gt=0).count()
    flagged = sum(m.flagged for m in said)
    asked = sum(m.role == Role.USER for m in said)
    importance = min(10, 1 + learned + 2 * flagged + asked // 3)
    tags = memory.tags(text, said)
    return {"importance": importance, "tags": tags, "through": said[-1].seq, "related_conversations": []}


@contextmanager
def _in_time() -> Iterator[StopFlag]:
    """Give a flag that stops the model when it takes longer than it may.

    Raises TookTooLong where that was so, and lets Unfinished through where the program ends or the model
    worked for others meanwhile: then its own time was not up.
    """
    stop = StopFlag()
    timer = threading.Timer(LONGEST_SECONDS, stop.set)
    timer.daemon = True
    timer.start()
    try:
        yield stop
    except Unfinished as stopped:
        if stop.is_set() and stopped.usage.worked >= LONGEST_SECONDS / 2:
            raise TookTooLong("The model took longer than it may.") from stopped
        raise
    finally:
        timer.cancel()
