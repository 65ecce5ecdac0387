"""The night's work: memory fades and the archive is emptied at 03:00 local, or as soon after as we run."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from chat.actions import archive, fading, jobs
from chat.actions.owners import zone_of
from chat.models import Fact

logger = logging.getLogger(__name__)

KIND = "nightly"
HOUR = time(3)  # seed 000, "Daily 3am"


def next_night(now: datetime, zone: ZoneInfo) -> datetime:
    """Return the next 03:00 of that zone after `now`."""
    local = timezone.localtime(now, zone)
    days = 0 if local.time() < HOUR else 1
    return datetime.combine(local.date() + timedelta(days), HOUR, tzinfo=zone)


def plan(now: datetime) -> None:
    """Ask for the night's work, at once: what downtime missed is caught up and the rest does nothing.

    One row, made again at each start, so that no crash can lose it.
    """
    with transaction.atomic():
        jobs.enqueue(KIND, {}, key=KIND, run_after=now)


def tonight(now: datetime) -> None:
    """Do the work for each owner whose day has changed, and ask for the next night.

    One owner's failure keeps no other from theirs; it is raised at the end, so that the job is tried again.
    """
    nights = [next_night(now, ZoneInfo("UTC"))]
    failure: Exception | None = None
    for owner in owners():
        zone = zone_of(owner.pk)
        nights.append(next_night(now, zone))
        try:
            work(owner, now, zone)
        except Exception as error:
            logger.exception("the night's work failed", extra={"owner": owner.pk})
            failure = error
    if failure is not None:
        raise failure
    with transaction.atomic():
        # It runs now, so this request outlives it.
        jobs.enqueue(KIND, {}, key=KIND, run_after=min(nights))


def work(owner: Any, now: datetime, zone: ZoneInfo) -> tuple[fading.Faded, int]:
    """Fade one owner's facts and empty their archive; returns what faded and how many were removed."""
    faded = fading.fade(owner, timezone.localtime(now, zone).date())
    return faded, archive.purge(owner, now)


def owners() -> Iterator[Any]:
    """Yield everybody of whom something is known."""
    known = Fact.objects.order_by().values("owner").distinct()
    yield from get_user_model().objects.filter(pk__in=known)
