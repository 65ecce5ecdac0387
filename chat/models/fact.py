"""A fact about the user, its history, and its way out."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import OwnedModel, OwnedQuerySet, UUIDModel
from .conversation import Conversation
from .message import Message


class Category(models.TextChoices):
    """The three shelves, in the order in which they are shown and ranked (seed 004)."""

    PROJECT = "project", _("Project")
    PREFERENCE = "preference", _("Preference")
    IDENTITY = "identity", _("Identity")


class Origin(models.TextChoices):
    """How a fact came to be known."""

    EXTRACTED = "extracted", _("learned from a message")
    TOLD = "told", _("you asked me to remember it")
    MANUAL = "manual", _("added by hand")
    HIGHLIGHT = "highlight", _("highlighted in a reply")


class DeletionState(models.TextChoices):
    """A deletion waits for its deadline, or was taken back, or is done."""

    PENDING = "pending", _("pending")
    UNDONE = "undone", _("undone")
    DONE = "done", _("done")


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

    objects = DeletionQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["state", "expires_at"], name="deletion_due")]

    def __str__(self) -> str:
        return f"{self.state} deletion of {self.pressed_at:%Y-%m-%d %H:%M}"


class FactQuerySet(OwnedQuerySet["Fact"]):
    """Reads of facts."""

    def live(self) -> FactQuerySet:
        """Return what is known now: not superseded, not on its way out."""
        return self.filter(superseded_at__isnull=True, deletion__isnull=True)

    def wordings(self) -> set[str]:
        """Return every text that these facts have, or once had: notes and blocks still say the old ones."""
        changes = FactEvent.objects.filter(fact__in=self).values_list("before", "after")
        earlier = {state["text"] for change in changes for state in change if "text" in state}
        return earlier.union(self.values_list("text", flat=True))

    def grouped(self) -> FactQuerySet:
        """Return them in panel order: category, pinned first, most recently mentioned first."""
        rank = models.Case(
            *(models.When(category=c, then=models.Value(i)) for i, c in enumerate(Category.values)),
            output_field=models.SmallIntegerField(),
        )
        return self.annotate(shelf=rank).order_by("shelf", "-pinned", "-last_seen", "id")


class Fact(OwnedModel):
    """One sentence known about the owner, with the user's own words that it came from."""

    text = models.CharField(max_length=300)
    category = models.CharField(max_length=10, choices=Category)
    kind = models.CharField(max_length=20)
    subject = models.CharField(max_length=80, blank=True)
    confidence = models.FloatField()
    mention_count = models.PositiveIntegerField(default=1)
    first_seen = models.DateTimeField(default=timezone.now)
    last_seen = models.DateTimeField(default=timezone.now)
    last_used = models.DateTimeField(default=timezone.now)
    pinned = models.BooleanField(default=False)
    origin = models.CharField(max_length=10, choices=Origin, default=Origin.EXTRACTED)
    quote = models.TextField(blank=True)
    source_conversation = models.ForeignKey(
        Conversation, null=True, blank=True, on_delete=models.SET_NULL, related_name="facts"
    )
    source_message = models.ForeignKey(
        Message, null=True, blank=True, on_delete=models.SET_NULL, related_name="facts"
    )
    language = models.CharField(max_length=8, blank=True)
    embedding = models.BinaryField(null=True, blank=True)
    embedder = models.CharField(max_length=60, blank=True)
    supersedes = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="superseded_by"
    )
    # A mark of its own: forgetting the newer fact must not bring the older one back to life.
    superseded_at = models.DateTimeField(null=True, blank=True)
    deletion = models.ForeignKey(
        Deletion, null=True, blank=True, on_delete=models.CASCADE, related_name="facts"
    )
    version = models.PositiveIntegerField(default=1)

    objects = FactQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["owner", "deletion", "category"], name="fact_shelf")]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(confidence__gte=0, confidence__lte=1), name="confidence_is_a_share"
            ),
        ]

    def __str__(self) -> str:
        return self.text


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


class FactEventQuerySet(OwnedQuerySet["FactEvent"]):
    """Reads of the history."""

    owner_path = "fact__owner"


class FactEvent(UUIDModel):
    """Append-only history of a fact; goes with the fact when the fact is forgotten."""

    fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="events")
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


class ExtractionRunQuerySet(OwnedQuerySet["ExtractionRun"]):
    """Reads of extraction runs."""

    owner_path = "message__conversation__owner"


class ExtractionRun(models.Model):
    """One look at one user message: what was stored, what was refused and why."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="looks")
    stored = models.PositiveIntegerField(default=0)
    reinforced = models.PositiveIntegerField(default=0)
    refused = models.JSONField(default=list, blank=True)
    error = models.CharField(max_length=300, blank=True)
    seconds = models.FloatField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = ExtractionRunQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.stored} learned, {self.reinforced} known"
