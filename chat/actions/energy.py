"""The energy budget of background model work: what is left, and which jobs wait for it.

A unit is one second of model time in the background lane. The engine's meter counts in memory; the level is
stored after each job, because the engine's thread must not wait for a database.
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

# One row, because a machine has one engine.
_ONLY = 1
# Job kinds that use the model in the background lane, with a description. No other kind waits for energy.
DEFERRABLE_KINDS = {
    "extract": _("reading messages"),
    "title": _("finding titles"),
    "prepare": _("summarizing long chats"),
    "pack_topic": _("archiving topics"),
    "app_memory": _("writing app memories"),
    "warm": _("reading prompts in advance"),
}


@dataclass(frozen=True, slots=True)
class DeferredJobs:
    """Jobs of one kind that wait for energy."""

    kind: str
    count: int

    @property
    def words(self) -> str:
        """What these jobs do, for display."""
        return str(DEFERRABLE_KINDS[self.kind])


@dataclass(frozen=True, slots=True)
class EnergyStatus:
    """The energy level in percent; while it is low, also which jobs wait and until when."""

    percent: int
    low: bool = False
    deferred: tuple[DeferredJobs, ...] = ()
    until: datetime | None = None

    @property
    def waiting(self) -> int:
        """How many jobs wait."""
        return sum(kind.count for kind in self.deferred)


def read_level(now: datetime) -> float:
    """Return the energy left now, in units: the stored level less the work not recorded yet. One query."""
    row = Energy.objects.filter(pk=_ONLY).first()
    full = energy.CAPACITY if row is None else energy.refill_level(row.level, row.measured_at, now)
    return energy.subtract_work(full, meter.background.read())


def spend_energy(seconds: float, now: datetime) -> float:
    """Subtract seconds of background model time from the level; returns the level in units."""
    with transaction.atomic():
        row, _made = Energy.objects.select_for_update().get_or_create(
            pk=_ONLY, defaults={"level": energy.CAPACITY, "measured_at": now}
        )
        row.level = energy.subtract_work(energy.refill_level(row.level, row.measured_at, now), seconds)
        # Also when the clock was set back: the level refills from this moment on.
        row.measured_at = now
        row.save(update_fields=["level", "measured_at"])
    return row.level


def save_meter(now: datetime | None = None) -> None:
    """Spend what the meter holds; after a database error the meter keeps it for the next call."""
    if not (seconds := meter.background.take()):
        return
    try:
        spend_energy(seconds, now or timezone.now())
    except DatabaseError:
        meter.background.add(seconds)
        logger.warning("could not save the energy level; retrying later", exc_info=True)


def find_low_until(now: datetime) -> datetime | None:
    """Return until when background work must wait (wall clock), None when it may start."""
    if meter.background.read():
        save_meter(now)
    row = Energy.objects.filter(pk=_ONLY).first()
    if row is None:
        return None
    if row.measured_at > now + timedelta(minutes=1):
        # The clock was set back: without this the level would not refill until `measured_at` is reached
        # again.
        spend_energy(0.0, now)
    level = energy.refill_level(row.level, row.measured_at, now)
    return energy.predict_recovery(level, now) if energy.is_low(level) else None


def read_status(now: datetime) -> EnergyStatus:
    """Return the level and the waiting jobs for display. At most two queries.

    They concern the machine: jobs of all owners are counted, and their content is not shown.
    """
    level = read_level(now)
    if not energy.is_low(level):
        return EnergyStatus(energy.to_percent(level))
    until = energy.predict_recovery(level, now)
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    waiting = Job.objects.filter(
        free, kind__in=DEFERRABLE_KINDS, failed_at__isnull=True, run_after__lte=until
    )
    counts = dict(waiting.order_by().values_list("kind").annotate(Count("pk")))
    found = tuple(DeferredJobs(kind, counts[kind]) for kind in DEFERRABLE_KINDS if kind in counts)
    return EnergyStatus(energy.to_percent(level), True, found, until)
