"""What an app remembers of a conversation that has ended (seed 003)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from .app import App
from .base import OwnedModel, OwnedQuerySet
from .conversation import Conversation
from .deletion import Deletion

# Characters; seed 003, "Context Size Management".
MAX_CONTENT = 200


class AppMemoryQuerySet(OwnedQuerySet["AppMemory"]):
    """Reads of app memories."""

    def live(self) -> AppMemoryQuerySet:
        """Return what is not on its way out, the one that changed last first."""
        return self.filter(deletion__isnull=True).order_by("-updated_at", "pk")


class AppMemory(OwnedModel):
    """A few sentences about one conversation; they never leave its app."""

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="memories")
    content = models.CharField(max_length=MAX_CONTENT)
    # One a conversation: its next end writes it anew. It outlives the conversation.
    source_conversation = models.OneToOneField(
        Conversation, null=True, blank=True, on_delete=models.SET_NULL, related_name="app_memory"
    )
    # `importance` 0-10, `tags`, `related_conversations`, and `through`: the last message that it tells of.
    metadata = models.JSONField(default=dict, blank=True)
    # Once the owner has put it in their own words, the next end leaves it as it is.
    edited = models.BooleanField(default=False)
    deletion = models.ForeignKey(
        Deletion, null=True, blank=True, on_delete=models.CASCADE, related_name="app_memories"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = AppMemoryQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-updated_at"]
        verbose_name_plural = "app memories"
        indexes: ClassVar = [models.Index(fields=["app", "-updated_at"], name="app_memory_recent")]

    def __str__(self) -> str:
        return self.content


class AppMemoryEventKind(models.TextChoices):
    """What happens to an app's memories when a conversation has ended."""

    ADD = "add", "written"
    UPDATE = "update", "written anew"
    ABSORB = "absorb", "told by another"
    EVICT = "evict", "made room"


# Those by which an app is kept at ten (seed 003, "Memory Compaction").
COMPACTIONS = (AppMemoryEventKind.ABSORB, AppMemoryEventKind.EVICT)


class AppMemoryEventQuerySet(OwnedQuerySet["AppMemoryEvent"]):
    """Reads of what happened."""


class AppMemoryEvent(OwnedModel):
    """That something happened, and no word of what the memory says: it outlives the memory, to be counted."""

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=8, choices=AppMemoryEventKind)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = AppMemoryEventQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-created_at"]
        indexes: ClassVar = [models.Index(fields=["owner", "created_at"], name="app_memory_event_of_owner")]

    def __str__(self) -> str:
        return f"{self.kind} {self.app_id}"
