"""Finds dates that lie ahead, written while the clock was wrong, and moves them back on request."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.apps import apps
from django.db import models, transaction
from django.db.models import Count, F, Max

from chat.models import ClockReading, Deletion, Job

from .clock import AHEAD, pull_in_all

# These lie in the future on purpose.
_DEADLINES = {(Job, "run_after"), (Job, "lease_until"), (Deletion, "expires_at")}
_ONE_SECOND = timedelta(seconds=1)


def find_dates_ahead(now: datetime) -> dict[str, tuple[int, datetime]]:
    """Return by table how many dates lie ahead of `now`, and the latest of them. Reads each table once.

    Covers every owner, because there is one clock. The names are those that people read.
    """
    found: dict[str, tuple[int, datetime]] = {}
    for model, field in _iterate_dates():
        rows = model._default_manager.filter(**{f"{field}__gt": now + AHEAD}).order_by()
        counted = rows.aggregate(count=Count("pk"), latest=Max(field))
        if counted["count"]:
            name = str(model._meta.verbose_name_plural)
            count, latest = found.get(name, (0, counted["latest"]))
            found[name] = (count + counted["count"], max(latest, counted["latest"]))
    return found


def move_dates_back(now: datetime) -> int:
    """Move all dates ahead back by the same time, so that the latest is now; returns how many.

    Their order stays. If the clock ran ahead until it was set right just now, they get their true times. One
    transaction.
    """
    ahead = find_dates_ahead(now)
    if not ahead:
        return 0
    back = max(latest for _, latest in ahead.values()) - now + _ONE_SECOND
    with transaction.atomic():
        # First, because it looks at the dates ahead.
        pull_in_all(now)
        count = 0
        for model, field in _iterate_dates():
            rows = model._default_manager.filter(**{f"{field}__gt": now + AHEAD}).order_by()
            count += rows.update(**{field: F(field) - back})
    return count


def _iterate_dates() -> Iterator[tuple[type[models.Model], str]]:
    """Yield the columns with times of what happened, as (model, column)."""
    for model in apps.get_app_config("chat").get_models():
        for field in model._meta.concrete_fields:
            is_date = isinstance(field, models.DateTimeField) and model is not ClockReading
            if is_date and (model, field.name) not in _DEADLINES:
                yield model, field.name
