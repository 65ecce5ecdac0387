"""The energy budgets of background model work: what is left, and which jobs wait for it.

A unit is one second of model time in the background lane. In local mode there is one level. In server mode
each owner has one, so that one person's backlog does not use up what others need; together they refill as
fast as one alone would. The engine's meter counts in memory; the levels are stored after each job, because
the engine's thread must not wait for a database.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from chat.llm import meter
from chat.memory import energy
from chat.models import Energy, Job

from .jobs import DEFERRABLE_KINDS
from .owners import is_local

logger = logging.getLogger(__name__)


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


def read_level(now: datetime, owner_id: int | None = None) -> float:
    """Return the owner's energy left now, in units: the stored level less the work not recorded yet.

    In local mode there is one level, whatever the owner. One query.
    """
    key = None if is_local() else owner_id
    full = _refill(list(_stored_levels()), now).get(key, energy.CAPACITY)
    return energy.subtract_work(full, meter.background.read(None if is_local() else str(owner_id)))


def spend_energy(seconds: float, now: datetime, owner_id: int | None = None) -> float:
    """Subtract seconds of background model time from the owner's level; returns the level in units.

    In server mode the levels of all are stored, because they share the refill.
    """
    key = None if is_local() else owner_id
    with transaction.atomic():
        Energy.objects.get_or_create(owner_id=key, defaults={"level": energy.CAPACITY, "measured_at": now})
        rows = list(_stored_levels(key).select_for_update())
        levels = _refill(rows, now)
        levels[key] = energy.subtract_work(levels[key], seconds)
        for row in rows:
            # Also when the clock was set back: the level refills from this moment on.
            row.level, row.measured_at = levels[row.owner_id], now
        Energy.objects.bulk_update(rows, ["level", "measured_at"])
    return levels[key]


def save_meter(now: datetime | None = None) -> None:
    """Spend what the meter holds; after a database error the meter keeps it for the next call."""
    spent = dict(meter.background.take_by_owner())
    if is_local() and spent:
        spent = {"": sum(spent.values())}
    for owner in list(spent):
        if not spent[owner]:
            continue
        try:
            spend_energy(spent[owner], now or timezone.now(), int(owner) if owner else None)
        except IntegrityError:
            # The owner's account was deleted meanwhile.
            continue
        except DatabaseError:
            meter.background.add(spent[owner], owner)
            logger.warning("could not save the energy level; retrying later", exc_info=True)


def find_low_until(now: datetime, owner_id: int | None = None) -> datetime | None:
    """Return until when background work for the owner must wait (wall clock), None when it may start."""
    key = None if is_local() else owner_id
    return _find_low(now).get(key)


def find_low_owners(now: datetime) -> dict[int, datetime]:
    """Return the owners whose background work must wait, with the time until when; in local mode none."""
    return {} if is_local() else {key: until for key, until in _find_low(now).items() if key is not None}


def read_status(now: datetime, owner_id: int | None = None) -> EnergyStatus:
    """Return the owner's level and waiting jobs for display; without an owner, the lowest level and all jobs.

    At most two queries. In local mode there is one level. The content of jobs is not shown.
    """
    whole = is_local() or owner_id is None
    levels = _refill(list(_stored_levels()), now)
    stored = min(levels.values(), default=energy.CAPACITY) if whole else levels.get(owner_id, energy.CAPACITY)
    level = energy.subtract_work(stored, meter.background.read(None if whole else str(owner_id)))
    if not energy.is_low(level):
        return EnergyStatus(energy.to_percent(level))
    until = energy.predict_recovery(level, now, _count_filling(levels))
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    waiting = Job.objects.filter(
        free, kind__in=DEFERRABLE_KINDS, failed_at__isnull=True, run_after__lte=until
    )
    waiting = waiting if whole else waiting.filter(owner=owner_id)
    counts = dict(waiting.order_by().values_list("kind").annotate(Count("pk")))
    found = tuple(DeferredJobs(kind, counts[kind]) for kind in DEFERRABLE_KINDS if kind in counts)
    return EnergyStatus(energy.to_percent(level), True, found, until)


def _stored_levels(also: int | None = None) -> QuerySet[Energy]:
    """Return the rows of the levels that are not full, and that of one owner."""
    if is_local():
        return Energy.objects.filter(owner=None).order_by("pk")[:1]
    return Energy.objects.filter(Q(level__lt=energy.CAPACITY) | Q(owner=also))


def _refill(rows: Sequence[Energy], now: datetime) -> dict[int | None, float]:
    """Return the levels at `now` by owner."""
    levels = {row.owner_id: row.level for row in rows}
    if not levels:
        return {}
    since = max(row.measured_at for row in rows)
    return energy.share_refill(levels, (now - since).total_seconds())


def _find_low(now: datetime) -> dict[int | None, datetime]:
    """Return the low levels by owner, with the time until when they are low."""
    if meter.background.read():
        save_meter(now)
    for row in _stored_levels():
        if row.measured_at > now + timedelta(minutes=1):
            # The clock was set back: without this the level would not refill until `measured_at` is reached
            # again.
            spend_energy(0.0, now, row.owner_id)
            break
    levels = _refill(list(_stored_levels()), now)
    filling = _count_filling(levels)
    return {
        key: energy.predict_recovery(level, now, filling)
        for key, level in levels.items()
        if energy.is_low(level)
    }


def _count_filling(levels: Mapping[int | None, float]) -> int:
    """Return among how many levels the refill is divided now, at least 1."""
    return max(1, sum(level < energy.CAPACITY for level in levels.values()))
