"""Topics of a conversation, and the archives of their older messages."""

from __future__ import annotations

from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone

from .base import OwnedQuerySet, UUIDModel
from .conversation import Conversation


class TopicQuerySet(OwnedQuerySet["Topic"]):
    """Queries on topics."""

    owner_path = "conversation__owner"

    def current(self) -> TopicQuerySet:
        """Return the topics that are not retired, the most recently active first.

        Only these are matched and can be in a prompt.
        """
        return self.filter(retired_at__isnull=True).order_by("-last_active_at")

    def begun_after_clear(self, conversation: Conversation) -> TopicQuerySet:
        """Return the topics without messages that `/clear` has hidden: a topic's title is made of its first
        messages.
        """
        if not (through := conversation.cleared_through):
            return self
        return self.exclude(messages__seq__lte=through)

    def with_counts(self) -> TopicQuerySet:
        """Annotate each topic with the numbers `live` and `packed` of its messages in the current branch."""
        shown = models.Q(messages__replaced_by__isnull=True) & models.Q(messages__isnull=False)
        return self.annotate(
            live=models.Count("messages", filter=shown & models.Q(messages__archive__isnull=True)),
            packed=models.Count("messages", filter=shown & models.Q(messages__archive__isnull=False)),
        )


class Topic(UUIDModel):
    """A subject that several messages of one conversation share."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="topics")
    title = models.CharField(max_length=80)
    summary = models.TextField(blank=True)
    # The `Message.seq` up to which the summary covers the topic.
    summarised_through = models.PositiveIntegerField(default=0)
    # The `Message.seq` up to which packed messages were restored when the topic came back. While it is the
    # active topic, messages up to here do not count for packing.
    restored_through = models.PositiveIntegerField(default=0)
    embedding = models.BinaryField(null=True, blank=True)
    embedder = models.CharField(max_length=60, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    last_active_at = models.DateTimeField(default=timezone.now)
    importance = models.FloatField(default=1.0, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)])
    access_count = models.PositiveIntegerField(default=0)
    message_count = models.PositiveIntegerField(default=0)
    # Set: left out of prompts and matching; its messages stay readable.
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
    """Queries on topic archives."""

    owner_path = "topic__conversation__owner"


class TopicArchive(UUIDModel):
    """The contents of a topic's packed messages: gzip of JSON, with the SHA-256 of the JSON."""

    topic = models.ForeignKey(Topic, on_delete=models.CASCADE, related_name="archives")
    data = models.BinaryField()
    count = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = TopicArchiveQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.count} messages"
