"""Messages that memory has not read and nobody sees to: their job was lost, or it has given up."""

from __future__ import annotations

import logging
from datetime import datetime

from django.db.models import Exists, OuterRef
from django.db.models.functions import Greatest
from django.utils.translation import gettext as _

from chat.memory.extract import Extraction
from chat.models import Conversation, Job, MemoryMode, Message, Role
from chat.models.conversation import ConversationQuerySet
from chat.models.message import TO_LEARN_FROM

from . import jobs
from .deletions import Undecided
from .looks import record_look

logger = logging.getLogger(__name__)

# How often a job is begun anew that has given up, each time with all its attempts and half an hour apart: an
# engine or a server may be away for that long.
ROUNDS = 3


def see_to_unread(now: datetime) -> int:
    """Have every unread message read that has no job; returns how many conversations that concerns.

    A message at which the job has given up `ROUNDS` times is passed over, with a look that says so: it must
    not keep those after it from being read for ever.
    """
    keys = {f"extract:{pk}": pk for pk in _unread().values_list("pk", flat=True)}
    rows = {job.dedupe_key: job for job in Job.objects.filter(dedupe_key__in=keys)}
    count = 0
    for key, conversation in keys.items():
        job = rows.get(key)
        if job is None:
            jobs.enqueue("extract", {"conversation": str(conversation)}, key=key)
        elif job.failed_at is not None:
            _begin_anew(job, now)
        count += job is None or job.failed_at is not None
    return count


def _unread() -> ConversationQuerySet:
    theirs = Message.objects.filter(
        TO_LEARN_FROM, conversation=OuterRef("pk"), role=Role.USER, replaced_by=None
    )
    through = Greatest(OuterRef("extracted_through"), OuterRef("imported_through"))
    waiting = Exists(theirs.filter(seq__gt=through))
    return Conversation.objects.kept().filter(waiting, memory_mode=MemoryMode.ON)


def _begin_anew(job: Job, now: datetime) -> None:
    rounds = job.payload.get("rounds", 1)
    if rounds >= ROUNDS:
        try:
            _pass_over(job)
        except Undecided:
            return
        rounds = 0
    jobs.begin_anew(job, job.payload | {"rounds": rounds + 1}, now)


def _pass_over(job: Job) -> None:
    conversation = Conversation.objects.get(pk=job.payload["conversation"])
    message = Message.objects.unread_by_memory(conversation).select_related("conversation__owner").first()
    if message is not None:
        logger.error("a message could not be read", extra={"conversation": str(conversation.pk)})
        sentence = _("Reading this message failed again and again; memory goes on without it.")
        record_look(message, Extraction(error=sentence), [], "", 0.0)
