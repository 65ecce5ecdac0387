"""The people of a server and what each of them uses, in numbers only. Ten queries for one page of people,
however many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.hashers import is_password_usable
from django.db.models import Case, Count, Max, Q, QuerySet, Sum, When

from chat.actions.owners import LOCAL_NAME
from chat.actions.quotas import QuotaState, find_use
from chat.models import ApiToken, Conversation, Deletion, Fact, Message, UsageRecord, User
from chat.models.message import Role

MONTH = timedelta(days=30)


class AccountState(StrEnum):
    """Whether a person can use an account."""

    ACTIVE = "active"
    WAITING = "waiting"
    DEACTIVATED = "deactivated"
    # An admin has deleted it, and can still bring it back.
    DELETED = "deleted"
    # The account of local mode, into which nobody can log in.
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Person:
    """An account with its use in numbers. `seconds_…` are seconds of the model, waiting included."""

    user: User
    state: AccountState
    is_admin: bool
    has_second_factor: bool
    last_seen: datetime | None
    conversations: int
    messages_month: int
    memories: int
    seconds_today: float
    seconds_month: float
    quota: QuotaState
    # Until when a deleted account can be brought back.
    deleted_at: datetime | None


def list_accounts() -> QuerySet[User]:
    """Return all accounts: those that wait for approval first, then the others by name."""
    waiting = Case(When(is_active=False, account_request__isnull=False, then=0), default=1)
    return User.objects.select_related("account_request").order_by(waiting, "username")


def load_people(users: Iterable[User], now: datetime, today: datetime) -> list[Person]:
    """Return these accounts with their use; `today` is the moment at which the reader's day began."""
    users = list(users)
    keys = [user.pk for user in users]
    chats = _by_owner(
        Conversation.objects.filter(owner__in=keys, deletion=None).order_by().values("owner"),
        "owner",
        count=Count("pk"),
        last=Max("updated_at"),
    )
    written = Message.objects.filter(
        conversation__owner__in=keys, role=Role.USER, created_at__gte=now - MONTH
    )
    messages = _by_owner(
        written.order_by().values("conversation__owner"), "conversation__owner", count=Count("pk")
    )
    facts = _by_owner(
        Fact.objects.filter(owner__in=keys).live().order_by().values("owner"), "owner", count=Count("pk")
    )
    used = UsageRecord.objects.filter(owner__in=keys, created_at__gte=min(now - MONTH, today))
    seconds = _by_owner(
        used.order_by().values("owner"),
        "owner",
        month=Sum("seconds"),
        today=Sum("seconds", filter=Q(created_at__gte=today)),
    )
    tokens = _by_owner(
        ApiToken.objects.filter(owner__in=keys).order_by().values("owner"), "owner", last=Max("last_used_at")
    )
    protected = set(Authenticator.objects.filter(user__in=keys).values_list("user", flat=True))
    deleted = Deletion.objects.of_accounts().filter(owner__in=keys, owner__is_active=False)
    deleted_at = dict(deleted.values_list("owner", "expires_at"))
    quotas = find_use(users)
    nothing: Mapping[str, Any] = {}
    return [
        Person(
            user=user,
            state=AccountState.DELETED if user.pk in deleted_at else _state_of(user),
            is_admin=user.is_staff and user.is_superuser,
            has_second_factor=user.pk in protected,
            last_seen=_latest(
                user.last_login,
                chats.get(user.pk, nothing).get("last"),
                tokens.get(user.pk, nothing).get("last"),
            ),
            conversations=chats.get(user.pk, nothing).get("count", 0),
            messages_month=messages.get(user.pk, nothing).get("count", 0),
            memories=facts.get(user.pk, nothing).get("count", 0),
            seconds_today=seconds.get(user.pk, nothing).get("today") or 0,
            seconds_month=seconds.get(user.pk, nothing).get("month") or 0,
            quota=quotas[user.pk],
            deleted_at=deleted_at.get(user.pk),
        )
        for user in users
    ]


def _by_owner(rows: Any, key: str, **numbers: Any) -> dict[int, dict[str, Any]]:
    return {row[key]: row for row in rows.annotate(**numbers)}


def _state_of(user: User) -> AccountState:
    if user.is_active:
        unused = user.last_login is None and not is_password_usable(user.password)
        return AccountState.LOCAL if unused and user.username == LOCAL_NAME else AccountState.ACTIVE
    return AccountState.WAITING if hasattr(user, "account_request") else AccountState.DEACTIVATED


def _latest(*moments: datetime | None) -> datetime | None:
    return max((moment for moment in moments if moment is not None), default=None)
