"""A creating request that a program may send again, and what came of it."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from .base import OwnedModel, OwnedQuerySet


class IdempotentRequest(OwnedModel):
    """What a request made, by the key that its program chose; holds neither its words nor the answer's."""

    key = models.CharField(max_length=200)
    # A keyed hash of method, address and body.
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=201)
    # The keys of what was made; the answer is told anew from them.
    made = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[OwnedQuerySet[IdempotentRequest]] = OwnedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "key"], name="one_request_a_key"),
        ]

    def __str__(self) -> str:
        return f"{self.status} at {self.created_at:%Y-%m-%d %H:%M}"
