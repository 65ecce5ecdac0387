"""App memories: what an app remembers of conversations that have ended."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from .app import App
from .base import OwnedModel, OwnedQuerySet
from .conversation import Conversation
from .deletion import Deletion

# Characters of one memory.
MAX_CONTENT = 200


class AppMemoryQuerySet(OwnedQuerySet["AppMemory"]):
    """Queries on app memories."""

    def live(self) -> AppMemoryQuerySet:
        """Return the memories without a pending deletion, the most recently changed first."""
        return self.filter(deletion__isnull=True).order_by("-updated_at", "pk")


class AppMemory(OwnedModel):
    """Two to four sentences about one conversation. They are used only in conversations of the same app."""

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="memories")
    content = models.CharField(max_length=MAX_CONTENT)
    # At most one for each conversation; when the conversation ends again, it is rewritten. It is kept when
    # the conversation is deleted.
    source_conversation = models.OneToOneField(
        Conversation, null=True, blank=True, on_delete=models.SET_NULL, related_name="app_memory"
    )
    # Keys: `importance` 0-10, `tags`, `related_conversations`, and `through`: the `seq` of the last message
    # it covers.
    metadata = models.JSONField(default=dict, blank=True)
    # True after the owner edited the text: it is then not rewritten when the conversation ends again.
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
        indexes: ClassVar = [
            models.Index(fields=["app", "-updated_at"], name="app_memory_recent"),
            # For the export, which lists an owner's memories in the order of their creation.
            models.Index(fields=["owner", "created_at"], name="app_memory_created"),
        ]

    def __str__(self) -> str:
        return self.content


class AppMemoryEventKind(models.TextChoices):
    """What happened to an app memory; each value is counted in the statistics."""

    ADD = "add", "written"
    UPDATE = "update", "written anew"
    ABSORB = "absorb", "told by another"
    EVICT = "evict", "made room"


# The events by which an app is kept at ten memories.
COMPACTIONS = (AppMemoryEventKind.ABSORB, AppMemoryEventKind.EVICT)


class AppMemoryEventQuerySet(OwnedQuerySet["AppMemoryEvent"]):
    """Queries on app memory events."""


class AppMemoryEvent(OwnedModel):
    """A record that a memory was added, changed or removed, without its text.

    It stays when the memory is deleted, so that it can be counted.
    """

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=8, choices=AppMemoryEventKind)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = AppMemoryEventQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-created_at"]
        indexes: ClassVar = [models.Index(fields=["owner", "created_at"], name="app_memory_event_of_owner")]

    def __str__(self) -> str:
        return f"{self.kind} {self.app_id}"
