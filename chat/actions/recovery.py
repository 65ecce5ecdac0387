"""Recovers what dead processes held: replies, leases of jobs, imports, and temporary conversations.

The invariant: nothing that belongs to a process with a row is touched, and what belongs to one without a row
is recovered once. Whoever finds a dead process deletes its row; whoever finds a thing without a row recovers
it, by an update that only the first one can make. So a process that is killed during a recovery leaves
nothing undone.
"""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from chat.models import ImportUpload

from . import clock, conversations, deletions, importing, jobs, messages, processes

logger = logging.getLogger(__name__)


def recover_at_start(now: datetime) -> bool:
    """Repair what dead processes left, and deadlines that have passed; returns whether no other process
    lives.

    Call it when this process has its row, and before it takes anything. With SQLite it holds the engine's
    lock.
    """
    _remove_dead(now)
    # What has no key is of a former version, and of a dead process where nobody else lives.
    alone = processes.is_alone()
    _recover_held(now, at_start=True)
    clock.read_clock(now)
    clock.pull_in_deadlines(now)
    deletions.finish_overdue_deletions(now)
    return alone


def recover_dead() -> None:
    """Recover what processes held that have died since; called by every process every few seconds."""
    now = timezone.now()
    _remove_dead(now)
    _recover_held(now)


def _remove_dead(now: datetime) -> None:
    with transaction.atomic():
        dead = processes.remove_dead()
        # In the same transaction, because the row alone says what was open.
        for row in dead:
            conversations.discard_unless_opened(row.open_conversations, now)
    for row in dead:
        logger.warning("a process has died; what it held is recovered", extra={"holder": str(row)})


def _recover_held(now: datetime, *, at_start: bool = False) -> None:
    held = processes.without_holder(at_start=at_start)
    messages.stop_stale_replies(held)
    jobs.release_leases(now, held)
    importing.remove_abandoned_imports()
    ImportUpload.objects.filter(processes.without_holder()).update(process=None)
