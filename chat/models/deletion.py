"""A batch of facts on its way out, and the hash by which memory knows what it must not learn again."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .app import App
from .base import OwnedModel, OwnedQuerySet


class DeletionState(models.TextChoices):
    """A deletion waits for its deadline, or was taken back, or is done.

    Staged is the batch behind which an import hides what it writes, until all of it is there.
    """

    PENDING = "pending", _("pending")
    UNDONE = "undone", _("undone")
    DONE = "done", _("done")
    STAGED = "staged", _("being imported")


class DeletionQuerySet(OwnedQuerySet["Deletion"]):
    """Reads of deletions."""

    def pending(self) -> DeletionQuerySet:
        """Return those whose deadline is still running, oldest press first."""
        return self.filter(state=DeletionState.PENDING).order_by("pressed_at")


class Deletion(OwnedModel):
    """A batch on its way out; the server keeps the deadline, whatever happens to the tab."""

    pressed_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    state = models.CharField(max_length=10, choices=DeletionState, default=DeletionState.PENDING)
    # All that was live at the press, and no message from before it is ever read by memory again.
    everything = models.BooleanField(default=False)
    # And with it all conversations, settings and whatever else is kept of the owner.
    whole = models.BooleanField(default=False)
    # All that this app remembered; what was said in its chats before the press is not told again.
    app = models.ForeignKey(App, null=True, blank=True, on_delete=models.CASCADE, related_name="+")

    objects = DeletionQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["state", "expires_at"], name="deletion_due")]

    def __str__(self) -> str:
        return f"{self.state} deletion of {self.pressed_at:%Y-%m-%d %H:%M}"


class Tombstone(OwnedModel):
    """The keyed hash of a forgotten text, or of the key of what told it: no text, no vector (design §3)."""

    digest = models.CharField(max_length=64)
    # Messages from before this moment must not teach it again; later ones may.
    pressed_at = models.DateTimeField()

    objects: ClassVar[OwnedQuerySet[Tombstone]] = OwnedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "digest"], name="one_tombstone_a_text"),
        ]

    def __str__(self) -> str:
        return f"forgotten on {self.pressed_at:%Y-%m-%d}"
