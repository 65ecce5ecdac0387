"""Periodic work: nightly work at 03:00 local time, and sweeps every 30 minutes. Also recovery after a crash.

Each periodic kind has one row, which stays while the job runs and then gets its next time. So what was missed
while the program was not running is run once.
"""

from __future__ import annotations

import logging
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from chat.actions import (
    archive,
    clock,
    decay,
    erasure,
    idempotency,
    jobs,
    old_conversations,
    old_records,
)
from chat.actions.owners import settings_of, time_zone_from
from chat.models import Fact, OwnerSettings, User

from .registry import PERIODIC

logger = logging.getLogger(__name__)

NIGHTLY = "nightly"
HOUR = time(3)  # local time
EVERY = timedelta(minutes=30)  # between two sweeps


def next_night(now: datetime, zone: ZoneInfo) -> datetime:
    """Return the next 03:00 in that zone after `now`.

    Where a clock change skips 03:00, the moment of the change; where 03:00 happens twice, the first.
    """
    local = timezone.localtime(now, zone)
    days = 0 if local.time() < HOUR else 1
    return datetime.combine(local.date() + timedelta(days), HOUR, tzinfo=zone)


def next_night_of_any_owner(now: datetime) -> datetime:
    """Return the next 03:00 in the time zone of any owner, or in UTC where there is no owner."""
    chosen = OwnerSettings.objects.filter(owner__in=find_owners())
    zones = {time_zone_from(settings) for settings in chosen} or {ZoneInfo("UTC")}
    return min(next_night(now, zone) for zone in zones).astimezone(ZoneInfo("UTC"))


def next_sweep(now: datetime) -> datetime:
    """Return when a sweep that ran now runs again."""
    return now + EVERY


def enqueue_all(now: datetime) -> None:
    """Enqueue all periodic kinds at once: missed work is caught up, and the other kinds find nothing to do.

    Called at each start, so that a lost row is created again.
    """
    with transaction.atomic():
        # In one order for all processes: two that start at once would wait for each other's rows otherwise.
        for kind in sorted(PERIODIC):
            jobs.enqueue(kind, {}, key=kind, run_after=now)


def enqueue_missing(now: datetime) -> None:
    """Enqueue the periodic kinds that have no row; existing rows keep their time."""
    with transaction.atomic():
        there = jobs.find_open_keys(PERIODIC)
        for kind in sorted(PERIODIC.keys() - there):
            jobs.enqueue(kind, {}, key=kind, run_after=now)


def run_nightly(now: datetime) -> None:
    """Run the nightly work of each owner. Work that was done for the owner's local day is not repeated.

    It deletes and fades by age, so it is left out on a day on which the clock was set.
    The failure of one owner's work does not stop the others; it is raised at the end, so that the job is
    tried again.
    """
    if not clock.is_clock_steady(now):
        logger.warning("nothing is deleted by age, because the clock was set less than a day ago")
        return
    idempotency.delete_expired(now)
    old_records.delete_old_records(now)
    failure: Exception | None = None
    for owner in find_owners():
        chosen = settings_of(owner.pk)
        try:
            decay_and_purge(owner, now, time_zone_from(chosen))
            if chosen.prune_after:
                old_conversations.delete_old_conversations(
                    owner, now - timedelta(days=chosen.prune_after), now
                )
        except Exception as error:
            logger.exception("the nightly work failed", extra={"owner": owner.pk})
            failure = error
    if failure is not None:
        raise failure


def decay_and_purge(owner: User, now: datetime, zone: ZoneInfo) -> tuple[decay.DecayResult, int]:
    """Run one owner's decay, archive what is past and empty their archive; return the decay and the number of
    removed facts.
    """
    today = timezone.localtime(now, zone).date()
    archive.archive_past_facts(owner, today, now)
    faded = decay.apply_decay(owner, today)
    return faded, archive.purge_archive(owner, now)


def prune_conversations(owner: User, now: datetime, days: int) -> int:
    """Delete conversations without a message of the owner for so many days at once and for good; return
    their number. 0 days keeps all.

    Pinned conversations and those with a flagged message are kept.
    """
    return erasure.prune_conversations(owner, now - timedelta(days=days)) if days else 0


def find_owners() -> Any:
    """Return the owners for whom there may be nightly work."""
    known = Fact.objects.order_by().values("owner").distinct()
    pruning = OwnerSettings.objects.filter(prune_after__gt=0).values("owner")
    return get_user_model().objects.filter(Q(pk__in=known) | Q(pk__in=pruning))
