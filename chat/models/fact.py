"""A fact about the user."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import OwnedModel, OwnedQuerySet
from .conversation import Conversation
from .deletion import Deletion
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
    HIGHLIGHT = "highlight", _("highlighted in a message")


class FactQuerySet(OwnedQuerySet["Fact"]):
    """Reads of facts."""

    def live(self) -> FactQuerySet:
        """Return what is known now: not superseded, not archived, not on its way out."""
        return self.filter(superseded_at__isnull=True, archived_at__isnull=True, deletion__isnull=True)

    def archived(self) -> FactQuerySet:
        """Return what was evicted or has faded and can still be brought back, the last to go first."""
        return self.filter(archived_at__isnull=False, deletion__isnull=True).order_by("-archived_at")

    def wordings(self) -> set[str]:
        """Return every text that these facts have, or once had: notes and blocks still say the old ones."""
        # The database reads the texts out of the states: a fact may have hundreds of events.
        changes = self.order_by().values_list("events__before__text", "events__after__text").distinct()
        earlier = {text for change in changes for text in change if text}
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
    # Evicted or faded (design §5): out of sight, and back on request for 30 days.
    archived_at = models.DateTimeField(null=True, blank=True)
    # Days on which the owner wrote something since this was last used or said; fading counts in these.
    idle_days = models.PositiveIntegerField(default=0)
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
