"""Messages that memory has not read: queues those without an active job, and skips those that always fail."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db.models import Exists, OuterRef
from django.db.models.functions import Greatest

from chat.memory import memory_requests
from chat.memory.candidates import Extraction
from chat.models import Conversation, Job, MemoryMode, Message, Role
from chat.models.conversation import ConversationQuerySet
from chat.models.message import LEARNABLE
from chat.topics.contents import load_contents

from . import jobs
from .deletions import Undecided
from .extraction import record_extraction

logger = logging.getLogger(__name__)
# How often a failed job is restarted, each time with all its attempts and half an hour apart: an engine or a
# server may be unavailable for that long.
ROUNDS = 3


def has_explicit_request(conversation: Conversation) -> bool:
    """Return whether an unread message asks memory to remember, forget or correct something."""
    unread = load_contents(Message.objects.not_extracted(conversation))
    return any(memory_requests.must_be_obeyed_at_once(message.content) for message in unread)


def queue_unread_messages(now: datetime) -> int:
    """Queue every unread message that has no active job; returns how many conversations have one.

    A message whose job has failed `ROUNDS` times is skipped, with a failed run, so that it does not block
    the messages after it for ever.
    """
    found = _find_unread().values_list("pk", "owner_id")
    keys = {f"extract:{pk}": (pk, owner_id) for pk, owner_id in found}
    rows = {job.dedupe_key: job for job in Job.objects.filter(dedupe_key__in=keys)}
    count = 0
    for key, (conversation, owner_id) in keys.items():
        job = rows.get(key)
        if job is None:
            jobs.enqueue("extract", {"conversation": str(conversation)}, key=key, owner_id=owner_id)
        elif job.failed_at is not None:
            _restart(job, now)
        count += job is None or job.failed_at is not None
    return count


def _find_unread() -> ConversationQuerySet:
    user_messages = Message.objects.filter(
        LEARNABLE, conversation=OuterRef("pk"), role=Role.USER, replaced_by=None
    )
    through = Greatest(OuterRef("extracted_through"), OuterRef("imported_through"))
    waiting = Exists(user_messages.filter(seq__gt=through))
    return Conversation.objects.not_deleted().filter(waiting, memory_mode=MemoryMode.ON)


def _restart(job: Job, now: datetime) -> None:
    rounds = job.payload.get("rounds", 1)
    if rounds >= ROUNDS:
        try:
            _skip_message(job)
        except Undecided:
            return
        rounds = 0
    jobs.restart_failed(job, job.payload | {"rounds": rounds + 1}, now)


def _skip_message(job: Job) -> None:
    conversation = Conversation.objects.get(pk=job.payload["conversation"])
    message = Message.objects.not_extracted(conversation).select_related("conversation__owner").first()
    if message is not None:
        logger.error(
            "extraction from a message failed for good; skipping it",
            extra={"conversation": str(conversation.pk)},
        )
        record_extraction(message, Extraction(error="extraction-given-up"), [], "", 0.0)
