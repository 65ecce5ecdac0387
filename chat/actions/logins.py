"""Records attempts to log in with a wrong password, and tells the owner of the account."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from chat.models import LoginFailure, User

# How long an attempt is shown and stored.
KEPT = timedelta(days=30)
# The limit of attempts allows some thousand a month; these are enough to see what happens.
_MOST_STORED = 200


@dataclass(frozen=True, slots=True)
class FailedLogins:
    """How many attempts failed, and when and from where the last one came."""

    count: int
    last: datetime
    address: str


def record_failed_login(owner: User, address: str) -> None:
    """Store one attempt; of more than `_MOST_STORED` the oldest goes."""
    LoginFailure.objects.create(owner=owner, address=address[:45])
    surplus = LoginFailure.objects.for_owner(owner).values_list("pk", flat=True)[_MOST_STORED:]
    LoginFailure.objects.filter(pk__in=list(surplus)).delete()


def find_failed_logins(owner: User, since: datetime | None = None) -> FailedLogins | None:
    """Return the failed attempts since then, at most those of the last 30 days; None without any."""
    begin = max(since, timezone.now() - KEPT) if since else timezone.now() - KEPT
    found = LoginFailure.objects.for_owner(owner).filter(created_at__gte=begin)
    last = found.first()
    return FailedLogins(found.count(), last.created_at, last.address) if last else None


def delete_old_failed_logins(now: datetime) -> None:
    """Delete the attempts of all owners that are shown no more."""
    LoginFailure.objects.filter(created_at__lt=now - KEPT).delete()
