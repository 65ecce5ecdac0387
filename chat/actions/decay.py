"""Decay of unused facts, once per local day, with catch-up after downtime."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models.functions import TruncDate
from django.utils import timezone

from chat.memory import confidence as rule
from chat.models import Fact, FactEvent, FactEventKind, Message, OwnerSettings, Role, User

from . import archive, events
from .fact_events import SYSTEM, build_event, snapshot
from .owners import time_zone_of

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DecayResult:
    """What one pass did: how many facts lost confidence, and how many of these were archived."""

    faded: int = 0
    expired: int = 0


def apply_decay(owner: User, today: date) -> DecayResult:
    """Apply the whole local days before `today` that were not applied yet; a second call does nothing.

    Only days on which the owner wrote a message count, and for each fact only those after its last use or
    mention. Pinned facts are exempt. When the stored date lies ahead of `today`, counting restarts at
    `today`. One short transaction.
    """
    zone = time_zone_of(owner.pk)
    with transaction.atomic():
        OwnerSettings.objects.get_or_create(owner=owner)
        settings = OwnerSettings.objects.select_for_update().get(owner=owner)
        since, through = settings.faded_through, today - _DAY
        if since is not None and since >= through:
            if since > today:
                # Further ahead than a change of time zone explains: the clock was wrong.
                OwnerSettings.objects.filter(owner=owner).update(faded_through=through)
            return DecayResult()
        facts = list(Fact.objects.filter(owner=owner, pinned=False).live())
        if since is None and facts:
            # The first pass starts where the longest idle fact was last active.
            since = min(_last_active_day(fact, zone) for fact in facts)
        done = (
            _decay_facts(facts, _active_days(owner, since, through, zone), zone) if since else DecayResult()
        )
        settings.faded_through = through
        settings.save(update_fields=["faded_through"])
        if done.faded:
            events.send_on_commit(owner.pk, "facts")
    return done


def _decay_facts(facts: list[Fact], active: list[date], zone: ZoneInfo) -> DecayResult:
    idle, decayed, entries = [], [], []
    for fact in facts:
        touched = _last_active_day(fact, zone)
        new_days = sum(day > touched for day in active)
        if not new_days:
            continue
        before, idle_before = snapshot(fact), fact.idle_days
        fact.idle_days += new_days
        idle.append(fact)
        confidence = rule.decay_confidence(
            fact.confidence, fact.category, fact.origin, idle_before, fact.idle_days
        )
        if confidence < fact.confidence:
            fact.confidence = confidence
            decayed.append(fact)
            reason = f"not used or said on {fact.idle_days} days"
            entries.append(build_event(fact, FactEventKind.DECAY, SYSTEM, before=before, reason=reason))
    Fact.objects.bulk_update(idle, ["idle_days", "confidence"], batch_size=100)
    FactEvent.objects.bulk_create(entries)
    expired_facts = [fact for fact in decayed if rule.is_below_floor(fact.confidence)]
    archive.archive_facts(
        expired_facts, FactEventKind.EXPIRE, "not used or said for too long", timezone.now()
    )
    return DecayResult(len(decayed), len(expired_facts))


def _last_active_day(fact: Fact, zone: ZoneInfo) -> date:
    return timezone.localtime(max(fact.last_used, fact.last_seen), zone).date()


def _active_days(owner: User, since: date, through: date, zone: ZoneInfo) -> list[date]:
    """Return the local days after `since`, through `through`, on which the owner wrote a message."""
    begin = datetime.combine(since + _DAY, time(), tzinfo=zone)
    end = datetime.combine(through + _DAY, time(), tzinfo=zone)
    messages = Message.objects.for_owner_by_time(owner).filter(
        role=Role.USER, created_at__gte=begin, created_at__lt=end
    )
    days = (
        messages.annotate(day=TruncDate("created_at", tzinfo=zone))
        .order_by("day")
        .values_list("day", flat=True)
    )
    return list(days.distinct())
