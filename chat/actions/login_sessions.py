"""Login sessions of a person: which there are, and ending them. Server mode only."""

from __future__ import annotations

from allauth.usersessions.models import UserSession
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils import timezone

from chat.errors import Refused
from chat.models import User
from chat.socket_access import Login, find_ended_logins

_LONGEST_DEVICE = 200  # characters; the column's length


def record_session(user: User, key: str, address: str, device: str) -> None:
    """Store when and from where a session was used, and by which browser."""
    UserSession.objects.update_or_create(
        session_key=key,
        defaults={
            "user": user,
            "ip": address,
            "user_agent": device.replace("\x00", "")[:_LONGEST_DEVICE],
            "last_seen_at": timezone.now(),
        },
    )


def list_sessions(user: User) -> list[UserSession]:
    """Return the sessions that let this person in now, the last used one first; three queries."""
    known = list(UserSession.objects.filter(user=user).order_by("-last_seen_at", "-pk"))
    ended = find_ended_logins({Login(user.pk, session=one.session_key) for one in known})
    over = {login.session for login in ended}
    return [one for one in known if one.session_key not in over]


def end_session(user: User, pk: int) -> None:
    """End one session: its next request needs a login, and its sockets close within a second.

    Raises Refused when the person has no such session.
    """
    with transaction.atomic():
        found = UserSession.objects.filter(user=user, pk=pk).first()
        if found is None:
            raise Refused("session-gone")
        Session.objects.filter(session_key=found.session_key).delete()
        found.delete()


def end_other_sessions(user: User, key: str) -> int:
    """End all sessions of a person but the one with this key; returns how many."""
    with transaction.atomic():
        others = UserSession.objects.filter(user=user).exclude(session_key=key)
        keys = list(others.values_list("session_key", flat=True))
        Session.objects.filter(session_key__in=keys).delete()
        others.delete()
    return len(keys)


def end_every_session(user: User) -> None:
    """Delete all sessions of a person, also those that were never recorded. In a transaction."""
    UserSession.objects.filter(user=user).delete()
    stored = Session.objects.iterator()
    theirs = [one.session_key for one in stored if one.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(session_key__in=theirs).delete()


def delete_ended_sessions() -> None:
    """Delete what was recorded of sessions that have ended, with their addresses and browsers."""
    UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()
