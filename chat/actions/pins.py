"""What an eleventh pin may do: take the place of the pin that was set the longest ago."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max, Q
from django.db.models.functions import Coalesce

from chat.models import Fact, FactEventKind

from .facts import MAX_PINNED, pin_fact


def oldest_if_full(fact: Fact) -> Fact | None:
    """Return the pinned fact that could make room for this one; None where room is not what it lacks."""
    fresh = Fact.objects.filter(owner=fact.owner_id).live().filter(pk=fact.pk, pinned=False)
    pinned = Fact.objects.filter(owner=fact.owner_id, pinned=True)
    if not fresh.exists() or pinned.count() < MAX_PINNED:
        return None
    # One that took over another's pin has no press of its own.
    pressed = Coalesce(Max("events__created_at", filter=Q(events__kind=FactEventKind.PIN)), "first_seen")
    return pinned.live().annotate(pressed=pressed).order_by("pressed", "id").first()


def pin_instead(fact: Fact, other: Fact) -> Fact:
    """Unpin one fact and pin another in its place, both or neither."""
    with transaction.atomic():
        pin_fact(other, False)
        return pin_fact(fact, True)
