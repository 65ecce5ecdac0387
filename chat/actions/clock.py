"""Puts right what was written while the clock ran ahead, once it shows the time again.

Otherwise all of it would wait for that day: a deletion to be final, a chat to end, a fact to fade.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.apps import apps
from django.db import models, transaction

from chat.models import Deletion, FactEvent, Job, Tombstone

from . import jobs
from .deletions import CLEAR_WINDOW

logger = logging.getLogger(__name__)

# Clocks are set right by seconds all the time.
AHEAD = timedelta(minutes=1)
# These lie ahead by what they mean; each is seen to by itself.
_TO_COME = {(Job, "run_after"), (Job, "lease_until"), (Deletion, "expires_at")}
# A press must stay later than what was said before it.
_PRESSES = {(Deletion, "pressed_at"), (Tombstone, "pressed_at")}
_A_LITTLE = timedelta(seconds=1)


def mend(now: datetime) -> int:
    """Set what lies ahead of now back to it, and make due what was put off; returns how many rows.

    Of every table, for whoever owns it: there is one clock. The order of a history is worth more than its
    dates, so that one stays as it is. One transaction; reads each table once.
    """
    count = 0
    with transaction.atomic():
        for model, field in _moments():
            right = now if (model, field) in _PRESSES else now - _A_LITTLE
            late = model._default_manager.filter(**{f"{field}__gt": now + AHEAD})
            count += late.order_by().update(**{field: right})
        until = now + CLEAR_WINDOW
        waiting = Deletion.objects.pending().order_by()
        count += waiting.filter(expires_at__gt=until + AHEAD).update(expires_at=until)
        count += jobs.mend_times(now)
    if count:
        logger.warning("the clock has been put back", extra={"rows": count})
    return count


def _moments() -> Iterator[tuple[type[models.Model], str]]:
    """Yield the moments that rows remember, by model and column."""
    for model in apps.get_app_config("chat").get_models():
        for field in model._meta.concrete_fields:
            kept = (model, field.name) not in _TO_COME and model is not FactEvent
            if kept and isinstance(field, models.DateTimeField):
                yield model, field.name


def put_back(now: datetime) -> int:
    """Do that in a process that goes on: whatever waits is looked at now, for nobody knows what for it waits.

    Who comes too early says so and waits on.
    """
    return mend(now) + jobs.make_due(now)
