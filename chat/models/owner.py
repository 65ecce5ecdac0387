"""Settings of an owner, and the repeatable requests of the owner's programs."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import OwnedModel, OwnedQuerySet

# Seconds without a new message, after which extraction starts.
EXTRACT_AFTER_SECONDS = 2


class Theme(models.TextChoices):
    """The colour scheme of the pages."""

    SYSTEM = "", _("as the system has it")
    LIGHT = "light", _("light")
    DARK = "dark", _("dark")


class OwnerSettings(models.Model):
    """The settings of one owner."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="memory_settings"
    )
    time_zone = models.CharField(max_length=60, blank=True)
    # Empty: the browser's Accept-Language header decides.
    language = models.CharField(max_length=10, blank=True)
    theme = models.CharField(max_length=10, choices=Theme, blank=True)
    # Seconds without a new message, after which extraction starts.
    look_after = models.PositiveIntegerField(default=EXTRACT_AFTER_SECONDS)
    redact_secrets = models.BooleanField(default=True)
    # True: a prompt may contain sentences of the owner's earlier conversations.
    use_past_chats = models.BooleanField(default=True)
    # True: prompts for a model on another machine may contain such sentences too.
    send_past_chats = models.BooleanField(default=False)
    # True: other assistants may recall past conversations by a tool of the MCP server.
    offer_past_chats = models.BooleanField(default=False)
    # Conversations without a new message for so many days are deleted at night; 0 keeps all.
    prune_after = models.PositiveIntegerField(default=0)
    # The last local day that decay has counted; days on which the program did not run are caught up from
    # here.
    faded_through = models.DateField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "owner settings"

    def __str__(self) -> str:
        return f"settings of {self.owner_id}"


class IdempotentRequest(OwnedModel):
    """A request that created something, by the key that the client chose.

    It stores neither the request's nor the response's text.
    """

    key = models.CharField(max_length=200)
    # Keyed hash of method, path and body.
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=201)
    # The ids of the created rows; a repeated request's response is built from them.
    made = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[OwnedQuerySet[IdempotentRequest]] = OwnedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "key"], name="one_request_a_key"),
        ]

    def __str__(self) -> str:
        return f"{self.status} at {self.created_at:%Y-%m-%d %H:%M}"
