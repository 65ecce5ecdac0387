"""Repairs timestamps that were written while the system clock was ahead, once it has been set back.

Otherwise deletions, conversations' ends and decay would wait until the clock reaches those timestamps.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.apps import apps
from django.db import models, transaction

from chat.models import Deletion, FactEvent, Job, Tombstone

from . import jobs

logger = logging.getLogger(__name__)

# Clocks are corrected by seconds all the time.
AHEAD = timedelta(minutes=1)
# These columns lie in the future on purpose; each has its own repair.
_FUTURE_COLUMNS = {(Job, "run_after"), (Job, "lease_until"), (Deletion, "expires_at")}
# A deletion must stay later than the messages before it.
_DELETION_COLUMNS = {(Deletion, "pressed_at"), (Tombstone, "pressed_at")}
_ONE_SECOND = timedelta(seconds=1)


def repair_timestamps(now: datetime) -> int:
    """Set timestamps in the future back to now and make postponed jobs due; returns how many rows changed.

    Covers every table and owner, because there is one clock. FactEvent keeps its timestamps, because
    their order matters more than the dates. One transaction; reads each table once.
    """
    with transaction.atomic():
        count = _repair_deadlines(now)
        for model, field in _iterate_past_columns():
            corrected = now if (model, field) in _DELETION_COLUMNS else now - _ONE_SECOND
            rows = model._default_manager.filter(**{f"{field}__gt": now + AHEAD})
            count += rows.order_by().update(**{field: corrected})
        count += jobs.repair_run_times(now)
    if count:
        logger.warning("the clock was set back; timestamps repaired", extra={"rows": count})
    return count


def _repair_deadlines(now: datetime) -> int:
    """Move the deadlines of deletions that were requested in the future: their time for undo begins now."""
    ahead = list(Deletion.objects.pending().filter(pressed_at__gt=now + AHEAD))
    for deletion in ahead:
        deletion.expires_at = now + (deletion.expires_at - deletion.pressed_at)
    return Deletion.objects.bulk_update(ahead, ["expires_at"])


def _iterate_past_columns() -> Iterator[tuple[type[models.Model], str]]:
    """Yield the columns that store moments of the past, as (model, column)."""
    for model in apps.get_app_config("chat").get_models():
        for field in model._meta.concrete_fields:
            is_past = (model, field.name) not in _FUTURE_COLUMNS and model is not FactEvent
            if is_past and isinstance(field, models.DateTimeField):
                yield model, field.name


def repair_after_clock_change(now: datetime) -> int:
    """Repair timestamps in a running process and make every waiting job due; returns how many rows changed.

    A job that runs too early postpones itself.
    """
    return repair_timestamps(now) + jobs.make_all_due(now)
