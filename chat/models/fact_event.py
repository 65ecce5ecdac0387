"""The append-only history of facts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import OwnedQuerySet, UUIDModel
from .message import Message


class FactEventKind(models.TextChoices):
    """What can happen to a fact (design §3)."""

    ADD = "add", _("learned")
    REINFORCE = "reinforce", _("said again")
    UPDATE = "update", _("updated")
    SUPERSEDE = "supersede", _("replaced")
    EDIT = "edit", _("edited")
    PIN = "pin", _("pinned")
    UNPIN = "unpin", _("unpinned")
    DELETE = "delete", _("forgotten")
    RESTORE = "restore", _("brought back")
    EVICT = "evict", _("made room for others")
    EXPIRE = "expire", _("faded away")
    DECAY = "decay", _("faded")


class FactEventQuerySet(OwnedQuerySet["FactEvent"]):
    """Reads of the history."""

    owner_path = "fact__owner"

    def endings(self, messages: Collection[Any]) -> FactEventQuerySet:
        """Return how these messages ended facts that are still in the archive: "I sold my car"."""
        return self.filter(
            kind=FactEventKind.SUPERSEDE,
            source_message__in=messages,
            fact__archived_at__isnull=False,
            fact__deletion__isnull=True,
        ).select_related("fact")


class FactEvent(UUIDModel):
    """Append-only history of a fact; goes with the fact when the fact is forgotten."""

    fact = models.ForeignKey("chat.Fact", on_delete=models.CASCADE, related_name="events")
    kind = models.CharField(max_length=10, choices=FactEventKind)
    before = models.JSONField(default=dict, blank=True)
    after = models.JSONField(default=dict, blank=True)
    actor = models.CharField(max_length=20)
    reason = models.CharField(max_length=200, blank=True)
    source_message = models.ForeignKey(
        Message, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = FactEventQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["created_at"]

    def __str__(self) -> str:
        return f"{self.kind} {self.fact_id}"
