"""What background work may still take of the model, and what waits for it (design §5, "Energy").

The engine's meter says what was spent; it is written down after each job, since the engine's thread must
never wait for a database.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import DatabaseError, transaction
from django.db.models import Count, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.llm import meter
from chat.memory import energy
from chat.models import Energy, Job

logger = logging.getLogger(__name__)

# One row, for a machine has one engine.
_ONLY = 1
# Kinds of jobs that let the model work in the background lane, in words. No other kind ever waits.
SPENDING = {
    "extract": _("reading messages"),
    "title": _("finding titles"),
    "prepare": _("summing up long chats"),
    "pack_topic": _("putting topics away"),
    "app_memory": _("writing app memories"),
    "warm": _("reading prompts in advance"),
}


@dataclass(frozen=True, slots=True)
class Deferred:
    """Jobs of one kind that wait for energy."""

    kind: str
    count: int

    @property
    def words(self) -> str:
        """What they do, for people."""
        return str(SPENDING[self.kind])


@dataclass(frozen=True, slots=True)
class Status:
    """The machine's energy: how much in percent, and what waits until when; nothing waits while not `low`."""

    percent: int
    low: bool = False
    deferred: tuple[Deferred, ...] = ()
    until: datetime | None = None

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return sum(kind.count for kind in self.deferred)


def level_now(now: datetime) -> float:
    """Return the level in units, with what the meter holds already taken off. One query."""
    row = Energy.objects.filter(pk=_ONLY).first()
    full = energy.CAPACITY if row is None else energy.refilled(row.level, row.measured_at, now)
    return energy.spent(full, meter.background.reading())


def spend(seconds: float, now: datetime) -> float:
    """Take units for seconds of background model time, and return the level that is left."""
    with transaction.atomic():
        row, _made = Energy.objects.select_for_update().get_or_create(
            pk=_ONLY, defaults={"level": energy.CAPACITY, "measured_at": now}
        )
        row.level = energy.spent(energy.refilled(row.level, row.measured_at, now), seconds)
        # Also when the clock went backwards: from here on it refills again.
        row.measured_at = now
        row.save(update_fields=["level", "measured_at"])
    return row.level


def settle(now: datetime | None = None) -> None:
    """Spend what the meter holds; what a database that is away does not take is spent the next time."""
    if not (seconds := meter.background.take()):
        return
    try:
        spend(seconds, now or timezone.now())
    except DatabaseError:
        meter.background.add(seconds)
        logger.warning("the energy that was spent could not be saved yet", exc_info=True)


def low_until(now: datetime) -> datetime | None:
    """Return until when background work has to wait, None where it may begin."""
    if meter.background.reading():
        settle(now)
    row = Energy.objects.filter(pk=_ONLY).first()
    if row is None:
        return None
    if row.measured_at > now + timedelta(minutes=1):
        # The clock has been put back: without this nothing would refill until it is there again.
        spend(0.0, now)
    level = energy.refilled(row.level, row.measured_at, now)
    return energy.enough_at(level, now) if energy.is_low(level) else None


def status(now: datetime) -> Status:
    """Return what the page shows: the level, and what is deferred until when. At most two queries.

    Of the machine and not of one owner: it counts jobs and says nothing of what is in them.
    """
    level = level_now(now)
    if not energy.is_low(level):
        return Status(energy.percent(level))
    until = energy.enough_at(level, now)
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    waiting = Job.objects.filter(free, kind__in=SPENDING, failed_at__isnull=True, run_after__lte=until)
    counts = dict(waiting.order_by().values_list("kind").annotate(Count("pk")))
    found = tuple(Deferred(kind, counts[kind]) for kind in SPENDING if kind in counts)
    return Status(energy.percent(level), True, found, until)
