"""Whether the machine's clock can be trusted, and what must not wait for a date that a wrong clock wrote.

A machine without a battery starts in the past until the network tells it the time, and a clock set wrongly
writes dates that lie ahead. No date of something that happened is changed here: `manage.py doctor --clock`
shows such dates and changes them on request.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.db import transaction

from chat.models import ClockReading, Deletion, Message

from . import jobs

logger = logging.getLogger(__name__)

# Clocks are corrected by seconds all the time.
AHEAD = timedelta(minutes=1)
# A longer time without a reading means a clock that leapt ahead, or a machine that was off.
LONGEST_GAP = timedelta(days=31)
# What is deleted by age waits so long after the clock went back or leapt ahead.
STEADY = timedelta(days=1)
# A process that runs stores its reading so often.
_STORED_EVERY = timedelta(minutes=10)


def read_clock(now: datetime, *, leapt: bool = False) -> None:
    """Store the present time of the clock, and notice when the clock was set.

    Pass `leapt=True` where the caller has seen that the clock was set. Otherwise `now` is compared with the
    stored reading, or with the newest message where no reading is stored. Writes in one short transaction,
    and at most every `_STORED_EVERY` while the clock is steady.
    """
    last = ClockReading.objects.first()
    if last is not None and not leapt and timedelta() <= now - last.read_at < _STORED_EVERY:
        return
    with transaction.atomic():
        last = ClockReading.objects.select_for_update().first()
        if last is None:
            newest = Message.objects.order_by("-created_at").values_list("created_at", flat=True).first()
            steady = not leapt and (newest is None or -AHEAD <= now - newest <= LONGEST_GAP)
            since = now - STEADY if steady else now
            ClockReading.objects.get_or_create(pk=1, defaults={"read_at": now, "steady_since": since})
            return
        if leapt or not -AHEAD <= now - last.read_at <= LONGEST_GAP:
            logger.warning("the clock was set", extra={"from": last.read_at, "to": now})
            last.steady_since = now
        last.read_at = now
        last.save()


def is_clock_steady(now: datetime) -> bool:
    """Read the clock, and return whether it has neither gone back nor leapt ahead for a day.

    Deletion by age asks this, because by a wrong clock everything may be old.
    """
    read_clock(now)
    last = ClockReading.objects.get()
    return now - last.steady_since >= STEADY


def pull_in_deadlines(now: datetime) -> int:
    """Make jobs due that wait for a date ahead, and let no deletion wait longer than its whole time for undo;
    returns how many rows changed.

    Called at the start, and after the clock went back; a second call changes nothing. One transaction.
    """
    with transaction.atomic():
        ahead = []
        for deletion in Deletion.objects.pending().filter(pressed_at__gt=now + AHEAD):
            window = deletion.window or max(deletion.expires_at - deletion.pressed_at, timedelta())
            if deletion.expires_at > now + window:
                deletion.expires_at = now + window
                ahead.append(deletion)
        count = Deletion.objects.bulk_update(ahead, ["expires_at"])
        return count + jobs.repair_run_times(now)


def pull_in_all(now: datetime) -> int:
    """Call `pull_in_deadlines`, and make every waiting job due; return how many rows changed.

    For a running process whose clock went back. A job that runs too early postpones itself.
    """
    return pull_in_deadlines(now) + jobs.make_all_due(now)
