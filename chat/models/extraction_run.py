"""What a look at a message found."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.utils import timezone

from .base import OwnedQuerySet
from .message import Message

SITTING = timedelta(minutes=1)


class ExtractionRunQuerySet(OwnedQuerySet["ExtractionRun"]):
    """Reads of extraction runs."""

    owner_path = "message__conversation__owner"

    def last_sitting(self) -> list[ExtractionRun]:
        """Return the newest look and those of the minute before it, newest first: messages read in one go."""
        last = self.order_by("-created_at").first()
        if last is None:
            return []
        return list(self.filter(created_at__gte=last.created_at - SITTING).order_by("-created_at", "-pk"))


class ExtractionRun(models.Model):
    """One look at one user message: what was stored, what was refused and why."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="looks")
    # False where nothing in the message was worth asking the model about.
    read = models.BooleanField(default=True)
    stored = models.PositiveIntegerField(default=0)
    reinforced = models.PositiveIntegerField(default=0)
    # Statements that only ended something: "I dropped the shop".
    ended = models.PositiveIntegerField(default=0)
    refused = models.JSONField(default=list, blank=True)
    error = models.CharField(max_length=300, blank=True)
    seconds = models.FloatField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = ExtractionRunQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-created_at"]
        indexes: ClassVar = [models.Index(fields=["created_at"], name="extraction_run_time")]

    def __str__(self) -> str:
        return f"{self.stored} learned, {self.reinforced} known"
