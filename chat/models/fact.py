"""Facts about the owner, their append-only history, and the results of the extractions that found them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, timedelta
from typing import Any, ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import OwnedModel, OwnedQuerySet, UUIDModel
from .conversation import Conversation
from .deletion import Deletion
from .message import Message


class Category(models.TextChoices):
    """The categories of facts, in the order in which they are displayed and ranked."""

    PROJECT = "project", _("Project")
    PREFERENCE = "preference", _("Preference")
    IDENTITY = "identity", _("Identity")


class Origin(models.TextChoices):
    """How a fact was stored."""

    EXTRACTED = "extracted", _("learned from a message")
    TOLD = "told", _("you asked me to remember it")
    MANUAL = "manual", _("added by hand")
    HIGHLIGHT = "highlight", _("highlighted in a message")


class Durability(models.TextChoices):
    """How long a fact will matter."""

    LASTING = "lasting", _("lasting")
    DOUBTFUL = "doubtful", _("doubtful")
    PASSING = "passing", _("passing")


class FactQuerySet(OwnedQuerySet["Fact"]):
    """Queries on facts."""

    def live(self) -> FactQuerySet:
        """Return the current facts: not superseded, not archived, no pending deletion."""
        return self.filter(superseded_at__isnull=True, archived_at__isnull=True, deletion__isnull=True)

    def holding_on(self, day: date) -> FactQuerySet:
        """Leave out the facts that were over before this day of the owner."""
        return self.exclude(holds_until__lt=day)

    def archived(self) -> FactQuerySet:
        """Return the facts that were evicted or expired and can be restored, the most recently archived
        first.
        """
        return self._not_live().filter(heard_once=False)

    def heard_once(self) -> FactQuerySet:
        """Return the facts that wait in the archive for a second mention."""
        return self._not_live().filter(heard_once=True)

    def _not_live(self) -> FactQuerySet:
        return self.filter(archived_at__isnull=False, deletion__isnull=True).order_by("-archived_at")

    def with_conversations(self) -> FactQuerySet:
        """Return the facts with the conversations of their first and last mention loaded."""
        return self.select_related("source_conversation", "last_seen_conversation")

    def all_texts(self) -> set[str]:
        """Return the current and all earlier texts of these facts; stored notes and memory blocks may still
        contain the earlier ones.
        """
        # `values_list` reads two keys of the JSON columns instead of the whole rows: a fact may have hundreds
        # of events.
        changes = self.order_by().values_list("events__before__text", "events__after__text").distinct()
        earlier = {text for change in changes for text in change if text}
        return earlier.union(self.values_list("text", flat=True))

    def all_states(self) -> set[tuple[str, str, str]]:
        """Return the current and all earlier (kind, subject, text) of these facts."""
        names = ("kind", "subject", "text")
        columns = [f"events__{side}__{name}" for side in ("before", "after") for name in names]
        changes = self.order_by().values_list(*columns).distinct()
        earlier = {state for change in changes for state in (change[:3], change[3:]) if None not in state}
        return earlier.union(self.values_list(*names))

    def in_panel_order(self) -> FactQuerySet:
        """Return the facts in the order of the memory panel: category, pinned first, most recently mentioned
        first.
        """
        rank = models.Case(
            *(models.When(category=c, then=models.Value(i)) for i, c in enumerate(Category.values)),
            output_field=models.SmallIntegerField(),
        )
        return self.annotate(shelf=rank).order_by("shelf", "-pinned", "-last_seen", "id")


class Fact(OwnedModel):
    """One sentence about the owner, with the quote of the message that it came from."""

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
    # The conversation of the last mention; `source_conversation` is that of the first.
    last_seen_conversation = models.ForeignKey(
        Conversation, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    language = models.CharField(max_length=8, blank=True)
    embedding = models.BinaryField(null=True, blank=True)
    embedder = models.CharField(max_length=60, blank=True)
    supersedes = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="superseded_by"
    )
    # A column of its own and not derived from `superseded_by`: deleting the newer fact must not make the
    # older one live again.
    superseded_at = models.DateTimeField(null=True, blank=True)
    # From and until which day of the owner the fact holds, where it says so; past that day it is archived.
    holds_from = models.DateField(null=True, blank=True)
    holds_until = models.DateField(null=True, blank=True)
    # The day on which the fact was said, for an age or a duration: "User's son is 3".
    said_on = models.DateField(null=True, blank=True)
    # Set when the fact was evicted or expired; it can be restored for 30 days.
    archived_at = models.DateTimeField(null=True, blank=True)
    # Whether memory expects that the fact will matter in a month; empty where it did not judge.
    durability = models.CharField(max_length=10, choices=Durability, blank=True)
    # A doubtful fact waits in the archive until it is mentioned again.
    heard_once = models.BooleanField(default=False)
    # Days on which the owner wrote a message and the fact was neither used nor mentioned. Decay counts these
    # days.
    idle_days = models.PositiveIntegerField(default=0)
    deletion = models.ForeignKey(
        Deletion, null=True, blank=True, on_delete=models.CASCADE, related_name="facts"
    )
    version = models.PositiveIntegerField(default=1)

    objects = FactQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["owner", "deletion", "category"], name="fact_shelf"),
            # For the admin site, which sorts the facts of all owners by confidence and selects them by date.
            models.Index(fields=["confidence"], name="fact_confidence"),
            models.Index(fields=["last_seen"], name="fact_last_seen"),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(confidence__gte=0, confidence__lte=1), name="confidence_is_a_share"
            ),
        ]

    def __str__(self) -> str:
        return self.text

    @property
    def may_not_matter(self) -> bool:
        """Whether the owner is asked if the fact is worth keeping: memory learned it from one mention, and
        does not expect that it will matter.
        """
        return (
            self.durability in (Durability.DOUBTFUL, Durability.PASSING)
            and self.origin == Origin.EXTRACTED
            and self.mention_count == 1
            and not self.pinned
        )


class FactEventKind(models.TextChoices):
    """What can happen to a fact."""

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
    PASS = "pass", _("its day is over")


class FactEventQuerySet(OwnedQuerySet["FactEvent"]):
    """Queries on the history of facts."""

    owner_path = "fact__owner"

    def ending_facts(self, messages: Collection[Any]) -> FactEventQuerySet:
        """Return the events by which these messages ended facts that are now archived, such as "I sold my
        car".
        """
        return self.filter(
            kind=FactEventKind.SUPERSEDE,
            source_message__in=messages,
            fact__archived_at__isnull=False,
            fact__deletion__isnull=True,
        ).select_related("fact")

    def found_in(self, messages: Collection[Any]) -> FactEventQuerySet:
        """Return the events of the facts that memory found in these messages, new and known ones, the oldest
        first; none of facts that are being deleted or were heard only once.
        """
        return self.filter(
            kind__in=(FactEventKind.ADD, FactEventKind.REINFORCE, FactEventKind.UPDATE),
            actor="memory",
            source_message__in=messages,
            fact__deletion__isnull=True,
            fact__heard_once=False,
        ).order_by("created_at", "pk")


class FactEvent(UUIDModel):
    """One entry of a fact's history. Entries are never changed; they are deleted with their fact."""

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


BATCH_SPAN = timedelta(minutes=1)


class ExtractionRunQuerySet(OwnedQuerySet["ExtractionRun"]):
    """Queries on extraction runs."""

    owner_path = "message__conversation__owner"

    def last_batch(self) -> list[ExtractionRun]:
        """Return the newest run and those of the minute before it, newest first: messages that were extracted
        together.
        """
        last = self.order_by("-created_at").first()
        if last is None:
            return []
        return list(self.filter(created_at__gte=last.created_at - BATCH_SPAN).order_by("-created_at", "-pk"))


class ExtractionRun(models.Model):
    """One extraction of one user message: how many facts were stored, which were refused and why."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="looks")
    # False: the message had nothing worth asking the model about, so the model did not read it.
    read = models.BooleanField(default=True)
    stored = models.PositiveIntegerField(default=0)
    reinforced = models.PositiveIntegerField(default=0)
    # Facts that the message ended without a new one: "I dropped the shop".
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
