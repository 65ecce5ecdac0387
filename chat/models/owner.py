"""What belongs to the person as a whole: settings and API tokens."""

from __future__ import annotations

import hashlib
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import OwnedModel, OwnedQuerySet

# Seconds; design §5, "When".
LOOK_AFTER = 2


class Theme(models.TextChoices):
    """Which colours the pages have."""

    SYSTEM = "", _("as the system has it")
    LIGHT = "light", _("light")
    DARK = "dark", _("dark")


class OwnerSettings(models.Model):
    """One row an owner: where and how they read and write."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="memory_settings"
    )
    time_zone = models.CharField(max_length=60, blank=True)
    # Empty means "as the browser asks".
    language = models.CharField(max_length=10, blank=True)
    theme = models.CharField(max_length=10, choices=Theme, blank=True)
    # After how many quiet seconds memory looks at what was said.
    look_after = models.PositiveIntegerField(default=LOOK_AFTER)
    redact_secrets = models.BooleanField(default=True)
    # Conversations in which nobody wrote for so many days are deleted at night; 0 keeps them all.
    prune_after = models.PositiveIntegerField(default=0)
    # The last local day that fading has counted; days of downtime are caught up from here.
    faded_through = models.DateField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "owner settings"

    def __str__(self) -> str:
        return f"settings of {self.owner_id}"


class ApiTokenQuerySet(OwnedQuerySet["ApiToken"]):
    """Reads of API tokens."""

    def standing(self) -> ApiTokenQuerySet:
        """Return those that open the door, the oldest first."""
        return self.filter(revoked_at__isnull=True).order_by("created_at")

    def valid(self, secret: str) -> ApiToken | None:
        """Return the unrevoked token with this secret, with its owner, who must not be locked out."""
        known = self.filter(digest=ApiToken.digest_of(secret), revoked_at__isnull=True)
        return known.filter(owner__is_active=True).select_related("owner").first()


class ApiToken(OwnedModel):
    """A named key for programs; only its hash is kept."""

    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True)
    # To the minute, so that reading a lot writes little.
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["created_at"]

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def digest_of(secret: str) -> str:
        """Return the hash under which a secret is kept; the secret has 256 random bits, so no salt."""
        return hashlib.sha256(secret.encode()).hexdigest()
