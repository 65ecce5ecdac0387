"""Attempts to log in with a wrong password, which the owner of the account is told."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from .base import OwnedModel, OwnedQuerySet


class LoginFailure(OwnedModel):
    """One attempt to log in as the owner with a wrong password; `address` is the sender's IP address."""

    created_at = models.DateTimeField(default=timezone.now, editable=False)
    address = models.CharField(max_length=45)

    objects: ClassVar[OwnedQuerySet[LoginFailure]] = OwnedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        ordering: ClassVar = ["-created_at"]
        indexes: ClassVar = [models.Index(fields=["owner", "-created_at"], name="login_failures_by_time")]

    def __str__(self) -> str:
        return f"{self.address} at {self.created_at:%Y-%m-%d %H:%M}"
