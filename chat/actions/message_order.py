"""Keeps the order of messages and deletions as it happened, also while the clock is set wrongly.

What was forgotten must not be learned again from a message that was there before, and a later message may
teach it. The dates of both say which came first, unless the clock was set back or ahead between them.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Max

from chat.models import Deletion, DeletionState, Message, User

# The finest resolution that a database stores.
RESOLUTION = timedelta(microseconds=1)


def order_before(owner: User, pressed_at: datetime) -> None:
    """Let the owner's messages with a later date count as said at that time; in the deletion's transaction.

    The messages exist already, so they come before the deletion whatever their dates say.
    """
    theirs = Message.objects.for_owner_by_time(owner)
    # Two updates, of which each finds its rows by an index. There are rows only where the clock was wrong.
    theirs.filter(ordered_at=None, created_at__gt=pressed_at).update(ordered_at=pressed_at)
    theirs.filter(ordered_at__gt=pressed_at).update(ordered_at=pressed_at)


def find_order(owner_id: Any, now: datetime) -> datetime | None:
    """Return when a message that is sent now counts as said; None where its date says so.

    Another time is needed where the owner has forgotten something by a clock that was ahead of the present
    one. One query.
    """
    ahead = Deletion.objects.filter(owner=owner_id, pressed_at__gte=now, by_age=False)
    ahead = ahead.exclude(state__in=[DeletionState.UNDONE, DeletionState.STAGED])
    latest = ahead.aggregate(latest=Max("pressed_at"))["latest"]
    return latest + RESOLUTION if latest is not None else None
