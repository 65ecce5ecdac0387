"""Tokens with which an owner's programs authenticate, and what each token allows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import OwnedModel, OwnedQuerySet


class Scope(models.TextChoices):
    """What a token allows; the routes of each are in `chat.api.scopes`."""

    CHAT = "chat", _("Send messages, and change and delete chats")
    READ_CHATS = "chats:read", _("Read chats")
    READ_MEMORY = "memory:read", _("Read memories")
    WRITE_MEMORY = "memory:write", _("Add, change and forget memories")
    IMPORT = "import", _("Import files")
    MODEL = "model", _("Choose the model and read its use")


# The scope of tokens that were created before tokens had scopes: it allows all that a token can allow.
FULL = "full"


class ApiTokenQuerySet(OwnedQuerySet["ApiToken"]):
    """Queries on API tokens."""

    def unrevoked(self) -> ApiTokenQuerySet:
        """Return the tokens that are not revoked, the oldest first; an ended one is among them."""
        return self.filter(revoked_at__isnull=True).order_by("created_at")

    def valid(self, secret: str) -> ApiToken | None:
        """Return the token with this secret and its owner, neither revoked nor ended; None where there is
        none or the owner's account is inactive.
        """
        known = self.filter(digest=ApiToken.digest_of(secret), revoked_at__isnull=True)
        standing = known.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now()))
        return standing.filter(owner__is_active=True).select_related("owner").first()


class ApiToken(OwnedModel):
    """A named token for programs. Only the hash of its secret is stored."""

    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True)
    # Values of Scope, or FULL alone.
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    # Updated once a minute at most, so that frequent reads cause few writes.
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["created_at"]

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def digest_of(secret: str) -> str:
        """Return the SHA-256 hash of a secret. A secret has 256 random bits, so it needs no salt."""
        return hashlib.sha256(secret.encode()).hexdigest()

    @property
    def is_full(self) -> bool:
        """Whether the token was created before tokens had scopes, and therefore allows everything."""
        return FULL in self.scopes

    @property
    def granted(self) -> list[Scope]:
        """Return the scopes of the token, in the order of Scope."""
        return [scope for scope in Scope if self.allows([scope])]

    @property
    def granted_choices(self) -> list[tuple[str, str]]:
        """Return the scopes of the token with their labels, as a form needs them."""
        return [(scope.value, str(scope.label)) for scope in self.granted]

    def allows(self, needed: Iterable[str]) -> bool:
        """Return whether the token has all of these scopes."""
        return self.is_full or set(needed) <= set(self.scopes)

    def has_ended(self, now: datetime) -> bool:
        """Return whether the token's end has passed."""
        return self.expires_at is not None and self.expires_at <= now
