"""How people get an account in server mode, and what admins did with accounts. No row holds chat contents."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import UUIDModel
from .deletion import Deletion


class AccountRole(models.TextChoices):
    """What an account may do; an admin is a user with `is_staff` and `is_superuser`."""

    MEMBER = "member", _("Member")
    ADMIN = "admin", _("Admin")


def digest_of(secret: str) -> str:
    """Return the SHA-256 hash of a link's secret. A secret has 256 random bits, so it needs no salt."""
    return hashlib.sha256(secret.encode()).hexdigest()


def active_admins() -> QuerySet[User]:
    """Return the active admins who can log in (with a password, or who have logged in before) and stay.

    The account of local mode is none of them until it has a password.
    """
    has_password = Q(password__gt="") & ~Q(password__startswith=UNUSABLE_PASSWORD_PREFIX)
    admins = User.objects.filter(is_active=True, is_staff=True, is_superuser=True)
    leaving = Deletion.objects.pending().filter(account=True).values("owner")
    return admins.filter(has_password | Q(last_login__isnull=False)).exclude(pk__in=leaving)


class FirstLink(models.Model):
    """The link that makes the first admin account. A new link replaces the old one.

    There is one row, which every change of accounts locks, so that one of them at a time decides.
    """

    # The key of the row.
    KEY = 1

    # Hash of the link's secret; empty where there is no link.
    digest = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"made at {self.created_at:%Y-%m-%d %H:%M}"


class InvitationQuerySet(models.QuerySet["Invitation"]):
    """Queries on invitations."""

    def unused(self) -> InvitationQuerySet:
        """Return the invitations that were neither used nor revoked, the newest first; with expired ones."""
        return self.filter(used_at__isnull=True, revoked_at__isnull=True).order_by("-created_at")


class Invitation(UUIDModel):
    """A link with which one person makes an account. Only the hash of its secret is stored."""

    # Null: the inviter's account was deleted; then nobody stands for the invitation, and it is not valid.
    inviter = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    role = models.CharField(max_length=10, choices=AccountRole, default=AccountRole.MEMBER)
    # For whom it is, in the inviter's words.
    note = models.CharField(max_length=80, blank=True)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = InvitationQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-created_at"]

    def __str__(self) -> str:
        return self.note or f"{self.role} until {self.expires_at:%Y-%m-%d}"

    def has_expired(self, now: datetime) -> bool:
        """Return whether the time to use the invitation is over."""
        return self.expires_at <= now


class AccountRequest(models.Model):
    """A person who signed up and waits for an admin's approval; the account is inactive meanwhile."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="account_request"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return f"request of {self.user_id}"


class AdminActKind(models.TextChoices):
    """What an admin did with an account; `chat.views.people` has the sentences."""

    FIRST = "first"
    INVITED = "invited"
    REVOKED = "revoked"
    # Here the actor is the new person, and the subject the admin who had invited them.
    JOINED = "joined"
    APPROVED = "approved"
    REFUSED = "refused"
    DEACTIVATED = "deactivated"
    REACTIVATED = "reactivated"
    MADE_ADMIN = "made_admin"
    MADE_MEMBER = "made_member"
    PASSWORD_LINK = "password_link"  # noqa: S105 - no password
    SECOND_FACTOR = "second_factor"
    DELETED = "deleted"
    RESTORED = "restored"
    LIMITS = "limits"


class AdminAct(models.Model):
    """One act of an admin: who did what with whose account. The names stay when an account is deleted."""

    actor_name = models.CharField(max_length=150)
    kind = models.CharField(max_length=20, choices=AdminActKind)
    # A person's name; of an invitation its note, which may be empty.
    subject_name = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False, db_index=True)

    class Meta:
        ordering: ClassVar = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.actor_name} {self.kind} {self.subject_name}"
