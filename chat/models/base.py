"""What every noun shares: keys that may stand in a URL, and the one owner filter."""

from __future__ import annotations

import uuid
from typing import Any, Self, TypeVar

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import models

M = TypeVar("M", bound=models.Model, covariant=True)


class OwnedQuerySet(models.QuerySet[M]):
    """Rows that a person owns; every door starts its query with `for_owner`."""

    owner_path = "owner"

    def for_owner(self, user: Any) -> Self:
        """Return the rows of this user, none for a stranger."""
        if user is None or isinstance(user, AnonymousUser) or not user.is_authenticated:
            return self.none()
        return self.filter(**{self.owner_path: user})


class UUIDModel(models.Model):
    """A row whose key may stand in a URL without telling how many there are."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)

    class Meta:
        abstract = True


class OwnedModel(UUIDModel):
    """A row that belongs to one person."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta:
        abstract = True
