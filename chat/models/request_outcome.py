"""What came of a request to memory in a message, where that is not a stored, ended or deleted fact."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from .base import OwnedModel, OwnedQuerySet
from .fact import Fact
from .message import Message


class OutcomeKind(models.TextChoices):
    """Why nothing was done: it is unclear which fact is meant, many facts are, none is, or the conversation
    does not change memory.
    """

    UNCLEAR = "unclear"
    MANY = "many"
    NOTHING = "nothing"
    OFF = "off"


class RequestOutcomeQuerySet(OwnedQuerySet["RequestOutcome"]):
    """Queries on outcomes of requests."""

    def open_questions(self) -> RequestOutcomeQuerySet:
        """Return the outcomes that ask the owner which facts are meant, and are not answered."""
        return self.filter(kind__in=(OutcomeKind.UNCLEAR, OutcomeKind.MANY), answered_at__isnull=True)


class RequestOutcome(OwnedModel):
    """What memory did not do at once about a request in a message; the page shows it under the reply.

    It has none of the request's words. `candidates` are the facts that may be meant.
    """

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="request_outcomes")
    kind = models.CharField(max_length=10, choices=OutcomeKind)
    candidates = models.ManyToManyField(Fact, related_name="+", blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    answered_at = models.DateTimeField(null=True, blank=True)

    objects = RequestOutcomeQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["created_at"]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {self.created_at:%Y-%m-%d %H:%M}"
