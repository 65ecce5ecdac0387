"""Lets what nobody uses fade, once a local day, caught up after downtime (design §5, "Fading")."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models.functions import TruncDate
from django.utils import timezone

from chat.memory import fade as rule
from chat.models import Fact, FactEvent, FactEventKind, Message, OwnerSettings, Role

from . import archive, events
from .history import SYSTEM, event, snapshot
from .owners import zone_of

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Faded:
    """What a pass did: how many facts lost confidence, and how many of these went to the archive."""

    faded: int = 0
    expired: int = 0


def fade(owner: Any, today: date) -> Faded:
    """Count the whole local days before `today` that were not counted yet; a second pass does nothing.

    Only days on which the owner wrote something count, and for a fact only those after its last use or
    mention. Pinned facts are exempt. Where a clock that ran ahead has counted, it begins anew from `today`.
    One short transaction.
    """
    zone = zone_of(owner.pk)
    with transaction.atomic():
        OwnerSettings.objects.get_or_create(owner=owner)
        settings = OwnerSettings.objects.select_for_update().get(owner=owner)
        since, through = settings.faded_through, today - _DAY
        if since is not None and since >= through:
            if since > today:
                # Further ahead than a journey to another zone can bring it: the clock was wrong.
                OwnerSettings.objects.filter(owner=owner).update(faded_through=through)
            return Faded()
        facts = list(Fact.objects.filter(owner=owner, pinned=False).live())
        if since is None and facts:
            # The first pass ever: as far back as any fact has been idle.
            since = min(_touched(fact, zone) for fact in facts)
        done = _fade(facts, _active_days(owner, since, through, zone), zone) if since else Faded()
        settings.faded_through = through
        settings.save(update_fields=["faded_through"])
        if done.faded:
            events.tell(owner.pk, "facts")
    return done


def _fade(facts: list[Fact], active: list[date], zone: ZoneInfo) -> Faded:
    idle, decayed, entries = [], [], []
    for fact in facts:
        touched = _touched(fact, zone)
        new_days = sum(day > touched for day in active)
        if not new_days:
            continue
        before, idle_before = snapshot(fact), fact.idle_days
        fact.idle_days += new_days
        idle.append(fact)
        left = rule.faded(fact.confidence, fact.category, fact.origin, idle_before, fact.idle_days)
        if left < fact.confidence:
            fact.confidence = left
            decayed.append(fact)
            reason = f"not used or said on {fact.idle_days} days"
            entries.append(event(fact, FactEventKind.DECAY, SYSTEM, before=before, reason=reason))
    Fact.objects.bulk_update(idle, ["idle_days", "confidence"], batch_size=100)
    FactEvent.objects.bulk_create(entries)
    gone = [fact for fact in decayed if rule.has_faded_away(fact.confidence)]
    archive.put_away(gone, FactEventKind.EXPIRE, "not used or said for too long", timezone.now())
    return Faded(len(decayed), len(gone))


def _touched(fact: Fact, zone: ZoneInfo) -> date:
    return timezone.localtime(max(fact.last_used, fact.last_seen), zone).date()


def _active_days(owner: Any, since: date, through: date, zone: ZoneInfo) -> list[date]:
    """Return the local days after `since` and up to `through` on which the owner wrote something."""
    begin = datetime.combine(since + _DAY, time(), tzinfo=zone)
    end = datetime.combine(through + _DAY, time(), tzinfo=zone)
    said = Message.objects.for_owner(owner).filter(role=Role.USER, created_at__gte=begin, created_at__lt=end)
    days = (
        said.annotate(day=TruncDate("created_at", tzinfo=zone)).order_by("day").values_list("day", flat=True)
    )
    return list(days.distinct())
