"""Pending deletions, and the hashes by which extraction recognises what it must not learn again."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .app import App
from .base import OwnedModel, OwnedQuerySet


class DeletionState(models.TextChoices):
    """A deletion is pending until its deadline, then done, or it was undone.

    `staged` hides the rows that an import writes until the import is complete.
    """

    PENDING = "pending", _("pending")
    UNDONE = "undone", _("undone")
    DONE = "done", _("done")
    STAGED = "staged", _("being imported")


class DeletionQuerySet(OwnedQuerySet["Deletion"]):
    """Queries on deletions."""

    def of_accounts(self) -> DeletionQuerySet:
        """Return the pending deletions that delete the account itself."""
        return self.pending().filter(account=True)

    def pending(self) -> DeletionQuerySet:
        """Return the deletions that can still be undone, the oldest first."""
        return self.filter(state=DeletionState.PENDING).order_by("pressed_at")


class Deletion(OwnedModel):
    """A group of rows that is deleted together after a deadline (wall clock).

    The server applies the deadline, also when the browser tab is closed.
    """

    pressed_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    # How long it can be undone; None for those from before this column.
    window = models.DurationField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=DeletionState, default=DeletionState.PENDING)
    # True: all facts that were live at `pressed_at`; messages from before it are never extracted again.
    everything = models.BooleanField(default=False)
    # True: the owner's conversations, settings and all other data too.
    whole = models.BooleanField(default=False)
    # True: the account itself too, at the end also with what was created after `pressed_at`.
    account = models.BooleanField(default=False)
    # True: conversations in which nobody wrote for so long that the owner's settings delete them.
    by_age = models.BooleanField(default=False)
    # Set: all memories of this app. Messages of its conversations from before `pressed_at` are not used for
    # app memories again.
    app = models.ForeignKey(App, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    # The message that asked to forget, None for a deletion by a button, a command or a program.
    message = models.ForeignKey(
        "chat.Message", null=True, blank=True, on_delete=models.SET_NULL, related_name="deletions"
    )
    # Set: `message` is an edited one, and the facts are those that only the wording before the edit taught.
    # What else an undo takes back: see `chat.actions.retraction`. Facts have no tombstones then.
    retraction = models.JSONField(null=True, blank=True)
    # The ids of the messages with sentences that say the facts (`Message.kept_out`), and whether all of the
    # owner's messages were searched for such sentences.
    marked_messages = models.JSONField(default=list, blank=True)
    is_searched = models.BooleanField(default=False)
    # While pending: the keyed hashes of the facts' texts and values at `pressed_at`, which become tombstones
    # at the end. The rows of the facts may be deleted before it, by another deletion or with the archive.
    digests = models.JSONField(default=list, blank=True)
    # Of an unfinished import: the process that imports.
    process = models.UUIDField(null=True, blank=True)

    objects = DeletionQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["state", "expires_at"], name="deletion_due")]

    def __str__(self) -> str:
        return f"{self.state} deletion of {self.pressed_at:%Y-%m-%d %H:%M}"


class Tombstone(OwnedModel):
    """The keyed hash of a deleted fact's normalised text, of its kind with its subject and value, of a
    sentence that said it, or of the key of its source.

    It holds no text and no vector.
    """

    digest = models.CharField(max_length=64)
    # Messages older than this must not restore the fact; newer ones may.
    pressed_at = models.DateTimeField()

    objects: ClassVar[OwnedQuerySet[Tombstone]] = OwnedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "digest"], name="one_tombstone_a_text"),
        ]

    def __str__(self) -> str:
        return f"forgotten on {self.pressed_at:%Y-%m-%d}"
