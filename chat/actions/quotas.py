"""What one person may take of what all share: messages a minute, seconds of the model a day, imports a day.

The limits apply in server mode only. They are counted in the database, so they are right with several
processes, and a message that is deleted still counts. What was refused counts as nothing and changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q, Sum
from django.utils import timezone

from chat.errors import QuotaExceeded, Reason, Refused
from chat.llm.types import Lane
from chat.models import AdminActKind, PersonQuota, QuotaUse, UsageRecord, User

from .owners import is_local, lock_memory
from .people import record_act

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
_MOST = 1_000_000
# Calls that a person waits for. Background work has its own limit, the energy.
_LANES = (Lane.CHAT.name.lower(), Lane.INTERACTIVE.name.lower())


@dataclass(frozen=True, slots=True)
class Quota:
    """The limits of one person; 0 is none."""

    messages_a_minute: int = 0
    model_seconds_a_day: int = 0
    imports_a_day: int = 0


@dataclass(frozen=True, slots=True)
class QuotaState:
    """The limits of one person, and what was taken: in the last minute, and in the last 24 hours.

    `own` are the limits that an administrator set for this person, None where there are none.
    """

    quota: Quota
    messages: int = 0
    model_seconds: float = 0.0
    imports: int = 0
    own: PersonQuota | None = None


def find_quota(user: User) -> Quota:
    """Return the limits of a person; one query, in local mode none."""
    if is_local():
        return Quota()
    return _combine(PersonQuota.objects.filter(owner=user).first())


def get_server_quota() -> Quota:
    """Return the limits of everybody for whom no others are set, which the settings of the server name."""
    return Quota(
        settings.QUOTA_MESSAGES_A_MINUTE, settings.QUOTA_MODEL_SECONDS_A_DAY, settings.QUOTA_IMPORTS_A_DAY
    )


def set_quota(
    admin: User,
    user: User,
    *,
    messages_a_minute: int | None,
    model_seconds_a_day: int | None,
    imports_a_day: int | None,
) -> None:
    """Store the limits of a person: None is as in the settings of the server, 0 is no limit.

    Raises Refused where `admin` is no administrator, and for a number out of range.
    """
    if not (admin.is_active and admin.is_staff):
        raise Refused("quota-not-yours")
    given = {
        "messages_a_minute": messages_a_minute,
        "model_seconds_a_day": model_seconds_a_day,
        "imports_a_day": imports_a_day,
    }
    if any(number is not None and not 0 <= number <= _MOST for number in given.values()):
        raise Refused("quota-out-of-range", most=_MOST)
    with transaction.atomic():
        if set(given.values()) == {None}:
            PersonQuota.objects.filter(owner=user).delete()
        else:
            PersonQuota.objects.update_or_create(owner=user, defaults=given)
        record_act(admin, AdminActKind.LIMITS, user.get_username())


def check_messages(user: User) -> None:
    """Raise QuotaExceeded where the person has sent as many messages in a minute as the limit allows."""
    _check_count(user, QuotaUse.What.MESSAGE, find_quota(user), timezone.now())


def check_imports(user: User) -> None:
    """Raise QuotaExceeded where the person has made as many imports in a day as the limit allows."""
    _check_count(user, QuotaUse.What.IMPORT, find_quota(user), timezone.now())


def check_model_seconds(user: User) -> None:
    """Raise QuotaExceeded where the model has worked for the person for the seconds of this day.

    A reply that is being written is not cut off, so a day may have a little more.
    """
    _check_model_seconds(user, find_quota(user), timezone.now())


@contextmanager
def count_message(user: User) -> Iterator[None]:
    """Count a message that the block sends; an exception of the block takes it back.

    Raises QuotaExceeded, and QuotaExceeded for the seconds of the model, before the block begins.
    """
    with _count(user, QuotaUse.What.MESSAGE):
        yield


@contextmanager
def count_import(user: User) -> Iterator[None]:
    """Count an import that the block makes; an exception of the block takes it back. Raises QuotaExceeded."""
    with _count(user, QuotaUse.What.IMPORT):
        yield


def find_use(users: Collection[User]) -> Mapping[int, QuotaState]:
    """Return by the key of each person the limits and what was taken. Three queries."""
    now, keys = timezone.now(), [user.pk for user in users]
    set_by_hand = {row.owner_id: row for row in PersonQuota.objects.filter(owner__in=keys)}
    recent = QuotaUse.objects.filter(owner__in=keys, created_at__gt=now - DAY).order_by().values("owner_id")
    counts = {
        row["owner_id"]: row
        for row in recent.annotate(
            messages=Count("pk", filter=Q(what=QuotaUse.What.MESSAGE, created_at__gt=now - MINUTE)),
            imports=Count("pk", filter=Q(what=QuotaUse.What.IMPORT)),
        )
    }
    worked = UsageRecord.objects.filter(owner__in=keys, lane__in=_LANES, created_at__gt=now - DAY)
    seconds = dict(worked.order_by().values_list("owner_id").annotate(Sum("worked")))
    none = {"messages": 0, "imports": 0}
    return {
        key: QuotaState(
            Quota() if is_local() else _combine(set_by_hand.get(key)),
            counts.get(key, none)["messages"],
            seconds.get(key, 0.0),
            counts.get(key, none)["imports"],
            set_by_hand.get(key),
        )
        for key in keys
    }


def delete_old_uses(now: datetime) -> None:
    """Delete the counted messages and imports that are older than the longest limit, a day."""
    QuotaUse.objects.filter(created_at__lt=now - DAY).delete()


def _combine(row: PersonQuota | None) -> Quota:
    usual = get_server_quota()
    if row is None:
        return usual
    given = (row.messages_a_minute, row.model_seconds_a_day, row.imports_a_day)
    defaults = (usual.messages_a_minute, usual.model_seconds_a_day, usual.imports_a_day)
    return Quota(*(b if a is None else a for a, b in zip(given, defaults, strict=True)))


@contextmanager
def _count(user: User, what: QuotaUse.What) -> Iterator[None]:
    if is_local():
        yield
        return
    with transaction.atomic():
        # Two requests at the same time must not both be the last one that is allowed.
        lock_memory(user.pk)
        quota, now = find_quota(user), timezone.now()
        _check_count(user, what, quota, now)
        if what == QuotaUse.What.MESSAGE:
            _check_model_seconds(user, quota, now)
        use = QuotaUse.objects.create(owner=user, what=what)
    try:
        yield
    except BaseException:
        QuotaUse.objects.filter(pk=use.pk).delete()
        raise


def _check_count(user: User, what: QuotaUse.What, quota: Quota, now: datetime) -> None:
    is_message = what == QuotaUse.What.MESSAGE
    most, period = (quota.messages_a_minute, MINUTE) if is_message else (quota.imports_a_day, DAY)
    if not most:
        return
    uses = QuotaUse.objects.for_owner(user).filter(what=what, created_at__gt=now - period)
    # Another is allowed once this one is older than the period.
    blocking = uses.order_by("-created_at").values_list("created_at", flat=True)[most - 1 : most]
    if blocking:
        _refuse("quota-messages" if is_message else "quota-imports", most, blocking[0] + period - now)


def _check_model_seconds(user: User, quota: Quota, now: datetime) -> None:
    if not quota.model_seconds_a_day:
        return
    worked = UsageRecord.objects.filter(owner=user, created_at__gt=now - DAY, lane__in=_LANES)
    left = float(worked.aggregate(sum=Sum("worked"))["sum"] or 0.0) - quota.model_seconds_a_day
    if left < 0:
        return
    for at, seconds in worked.order_by("created_at").values_list("created_at", "worked").iterator():
        left -= seconds
        if left < 0:
            _refuse("quota-model-seconds", quota.model_seconds_a_day, at + DAY - now)


def _refuse(code: str, most: int, wait: timedelta) -> None:
    seconds = max(1, math.ceil(wait.total_seconds()))
    raise QuotaExceeded(Reason(code, {"most": most, "wait": _describe_wait(seconds)}), after=seconds)


def _describe_wait(seconds: int) -> Reason:
    """Return in words when it is possible again. The number is never 1, so the words need no singular."""
    if seconds <= 100:
        return Reason("wait-seconds", {"count": max(2, seconds)})
    if seconds <= 100 * 60:
        return Reason("wait-minutes", {"count": math.ceil(seconds / 60)})
    return Reason("wait-hours", {"count": math.ceil(seconds / 3600)})
