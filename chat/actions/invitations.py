"""Invitations: links with which one person makes an account each."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chat.errors import Refused
from chat.models import AccountRole, AdminActKind, Invitation, User, active_admins, digest_of

from .people import create_user, lock_accounts, record_act

# The times that the page offers, in days.
ENDS = (1, 7, 30)
DEFAULT_END = 7
LONGEST_NOTE = 80  # characters; the column's length
# Open ones at a time: few enough to review in a list.
MAX_OPEN = 100


def invite(admin: User, role: str, note: str, days: str) -> str:
    """Create an invitation; return its secret, which is shown once and stored only as a hash.

    Raises Refused for an unknown role, an unknown time, a note that is too long, and beyond `MAX_OPEN`.
    """
    note = " ".join(note.replace("\x00", "").split())
    if role not in AccountRole.values:
        raise Refused("role-unknown")
    if days not in map(str, ENDS):
        raise Refused("invitation-end-unknown")
    if len(note) > LONGEST_NOTE:
        raise Refused("note-too-long", most=LONGEST_NOTE)
    now, secret = timezone.now(), secrets.token_urlsafe(32)
    with transaction.atomic():
        lock_accounts()
        if Invitation.objects.unused().filter(expires_at__gt=now).count() >= MAX_OPEN:
            raise Refused("invitations-all-used", most=MAX_OPEN)
        Invitation.objects.create(
            inviter=admin,
            role=role,
            note=note,
            digest=digest_of(secret),
            created_at=now,
            expires_at=now + timedelta(days=int(days)),
        )
        record_act(admin, AdminActKind.INVITED, note)
    return secret


def revoke_invitation(admin: User, invitation: Invitation) -> None:
    """Make an invitation invalid. Raises Refused where it was used or revoked already."""
    with transaction.atomic():
        lock_accounts()
        standing = Invitation.objects.unused().filter(pk=invitation.pk)
        if not standing.update(revoked_at=timezone.now()):
            raise Refused("invitation-gone")
        record_act(admin, AdminActKind.REVOKED, invitation.note)


def find_invitation(secret: str) -> Invitation:
    """Return the invitation with this secret, with its inviter.

    Raises Refused for an unknown secret, and for an invitation that is used, revoked or expired or whose
    inviter is no active admin any more.
    """
    return _find_usable(Invitation.objects.select_related("inviter"), secret, timezone.now())


def _find_usable(rows: QuerySet[Invitation], secret: str, now: datetime) -> Invitation:
    invitation = rows.filter(digest=digest_of(secret)).first()
    if invitation is None:
        raise Refused("invitation-unknown")
    if invitation.used_at is not None:
        raise Refused("invitation-used")
    if invitation.revoked_at is not None or not _may_invite(invitation.inviter):
        raise Refused("invitation-revoked")
    if invitation.has_expired(now):
        raise Refused("invitation-expired")
    return invitation


def _may_invite(inviter: User | None) -> bool:
    return inviter is not None and active_admins().filter(pk=inviter.pk).exists()


def accept_invitation(secret: str, name: str, hashed_password: str) -> User:
    """Create the account of the person who was invited; return it. Of two calls at once one succeeds.

    Raises as `find_invitation` does, and Refused where the name is taken.
    """
    now = timezone.now()
    with transaction.atomic():
        lock_accounts()
        invitation = _find_usable(Invitation.objects.all(), secret, now)
        is_admin = invitation.role == AccountRole.ADMIN
        user = create_user(name, hashed_password, is_admin=is_admin)
        Invitation.objects.filter(pk=invitation.pk).update(used_at=now, used_by=user)
        record_act(user, AdminActKind.JOINED, invitation.inviter.get_username() if invitation.inviter else "")
    return user
