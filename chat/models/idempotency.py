"""REST requests that a client may repeat with the same idempotency key."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from .base import OwnedModel, OwnedQuerySet


class IdempotentRequest(OwnedModel):
    """A request that created something, by the key that the client chose.

    It stores neither the request's nor the response's text.
    """

    key = models.CharField(max_length=200)
    # Keyed hash of method, path and body.
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=201)
    # The ids of the created rows; a repeated request's response is built from them.
    made = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[OwnedQuerySet[IdempotentRequest]] = OwnedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "key"], name="one_request_a_key"),
        ]

    def __str__(self) -> str:
        return f"{self.status} at {self.created_at:%Y-%m-%d %H:%M}"
