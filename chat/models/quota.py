"""What one person may take of what all share, and what they have taken of it in the last day."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from .base import OwnedModel, OwnedQuerySet


class PersonQuota(models.Model):
    """The limits of one person where they differ from the server's settings: NULL is as there, 0 is none.

    An administrator sets them, so they stay when the person deletes everything.
    """

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    messages_a_minute = models.PositiveIntegerField(null=True, blank=True)
    model_seconds_a_day = models.PositiveIntegerField(null=True, blank=True)
    imports_a_day = models.PositiveIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return f"limits of {self.owner_id}"


class QuotaUse(OwnedModel):
    """One message or one import that counts. It stays when the message or what was imported is deleted."""

    class What(models.TextChoices):
        """What a row counts: a message or an import."""

        MESSAGE = "message"
        IMPORT = "import"

    what = models.CharField(max_length=10, choices=What)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[OwnedQuerySet[QuotaUse]] = OwnedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        indexes: ClassVar = [models.Index(fields=["owner", "what", "created_at"], name="quota_use_by_time")]

    def __str__(self) -> str:
        return f"{self.what} at {self.created_at:%Y-%m-%d %H:%M}"
