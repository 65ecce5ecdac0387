"""Work that comes again by itself: every night at 03:00 local, and the sweeps of each half an hour.

One row a kind, which stays while the work is done and is moved on to its next time after that: what downtime
missed is caught up once, however often it was missed.
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

from chat.actions import archive, fading, idempotency, jobs, keeping
from chat.actions.owners import settings_of, zone_in
from chat.models import Fact, OwnerSettings

from .registry import PERIODIC

logger = logging.getLogger(__name__)

KIND = "nightly"
HOUR = time(3)  # seed 000, "Daily 3am"
EVERY = timedelta(minutes=30)  # seed 000, "Background Workflows"


def next_night(now: datetime, zone: ZoneInfo) -> datetime:
    """Return the next 03:00 of that zone after `now`; where the clocks leave it out, the moment they do.

    Of an hour that comes twice it is the first.
    """
    local = timezone.localtime(now, zone)
    days = 0 if local.time() < HOUR else 1
    return datetime.combine(local.date() + timedelta(days), HOUR, tzinfo=zone)


def next_of_all(now: datetime) -> datetime:
    """Return when it is 03:00 next for anybody: the zones of all owners, and UTC where there are none."""
    chosen = OwnerSettings.objects.filter(owner__in=owners())
    zones = {zone_in(settings) for settings in chosen} or {ZoneInfo("UTC")}
    return min(next_night(now, zone) for zone in zones).astimezone(ZoneInfo("UTC"))


def half_an_hour_later(now: datetime) -> datetime:
    """Return when a sweep is due that was made now."""
    return now + EVERY


def plan(now: datetime) -> None:
    """Ask for all of it, at once: what downtime missed is caught up and the rest finds nothing to do.

    The rows are made again at each start, so that neither a crash nor a cancellation loses one for good.
    """
    with transaction.atomic():
        for kind in PERIODIC:
            jobs.enqueue(kind, {}, key=kind, run_after=now)


def ensure(now: datetime) -> None:
    """Make the rows that are missing; those that are there keep their time."""
    with transaction.atomic():
        there = jobs.known_keys(PERIODIC)
        for kind in PERIODIC.keys() - there:
            jobs.enqueue(kind, {}, key=kind, run_after=now)


def tonight(now: datetime) -> None:
    """Do the night's work for each owner; what was done on this day of theirs already is not done again.

    One owner's failure keeps no other from theirs; it is raised at the end, so that the job is tried again.
    """
    idempotency.sweep(now)
    failure: Exception | None = None
    for owner in owners():
        chosen = settings_of(owner.pk)
        try:
            work(owner, now, zone_in(chosen))
            prune(owner, now, chosen.prune_after)
        except Exception as error:
            logger.exception("the night's work failed", extra={"owner": owner.pk})
            failure = error
    if failure is not None:
        raise failure


def work(owner: Any, now: datetime, zone: ZoneInfo) -> tuple[fading.Faded, int]:
    """Fade one owner's facts and empty their archive; returns what faded and how many were removed."""
    faded = fading.fade(owner, timezone.localtime(now, zone).date())
    return faded, archive.purge(owner, now)


def prune(owner: Any, now: datetime, days: int) -> int:
    """Delete the conversations in which the owner wrote nothing for so many days; 0 keeps them all.

    Returns how many. Pinned ones stay, and those with a flagged message.
    """
    return keeping.prune(owner, now - timedelta(days=days)) if days else 0


def owners() -> Any:
    """Return everybody for whom there may be something to do at night."""
    known = Fact.objects.order_by().values("owner").distinct()
    pruning = OwnerSettings.objects.filter(prune_after__gt=0).values("owner")
    return get_user_model().objects.filter(Q(pk__in=known) | Q(pk__in=pruning))
