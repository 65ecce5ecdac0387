"""A topic of a conversation, and the archive that its older messages are packed into (seed 002)."""

from __future__ import annotations

from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone

from .base import OwnedQuerySet, UUIDModel
from .conversation import Conversation


class TopicQuerySet(OwnedQuerySet["Topic"]):
    """Reads of topics."""

    owner_path = "conversation__owner"

    def current(self) -> TopicQuerySet:
        """Return those that are matched and may stand in a prompt, the last active first."""
        return self.filter(retired_at__isnull=True).order_by("-last_active_at")

    def seen_in(self, conversation: Conversation) -> TopicQuerySet:
        """Return those that began after what was cleared: a title tells of what was said first."""
        if not (through := conversation.cleared_through):
            return self
        return self.exclude(messages__seq__lte=through)

    def with_counts(self) -> TopicQuerySet:
        """Return each with how many of its messages are `live` and `packed`, as the chat shows them."""
        shown = models.Q(messages__replaced_by__isnull=True) & models.Q(messages__isnull=False)
        return self.annotate(
            live=models.Count("messages", filter=shown & models.Q(messages__archive__isnull=True)),
            packed=models.Count("messages", filter=shown & models.Q(messages__archive__isnull=False)),
        )


class Topic(UUIDModel):
    """What several messages of one conversation are about."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="topics")
    title = models.CharField(max_length=80)
    summary = models.TextField(blank=True)
    # The place in the conversation through which the summary speaks.
    summarised_through = models.PositiveIntegerField(default=0)
    embedding = models.BinaryField(null=True, blank=True)
    embedder = models.CharField(max_length=60, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_active_at = models.DateTimeField(default=timezone.now)
    importance = models.FloatField(default=1.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    access_count = models.PositiveIntegerField(default=0)
    message_count = models.PositiveIntegerField(default=0)
    # Out of context and matching; its messages stay readable.
    retired_at = models.DateTimeField(null=True, blank=True)

    objects = TopicQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["conversation", "-last_active_at"], name="topic_recent")]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(importance__gte=0, importance__lte=1), name="importance_is_a_share"
            ),
        ]

    def __str__(self) -> str:
        return self.title


class TopicArchiveQuerySet(OwnedQuerySet["TopicArchive"]):
    """Reads of archives."""

    owner_path = "topic__conversation__owner"


class TopicArchive(UUIDModel):
    """The contents of a topic's packed messages: JSON, gzipped, with the checksum of what was packed."""

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="archives")
    data = models.BinaryField()
    count = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = TopicArchiveQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.count} messages"
