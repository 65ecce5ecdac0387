"""Base classes of the models: UUID keys, and the filter by owner."""

from __future__ import annotations

import uuid
from typing import Any, Self, TypeVar

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models.functions import Coalesce
from django.db.models.lookups import Exact

M = TypeVar("M", bound=models.Model, covariant=True)


class OwnedQuerySet(models.QuerySet[M]):
    """Rows that belong to one user. Views and APIs start every query with `for_owner`."""

    owner_path = "owner"

    def for_owner(self, user: Any) -> Self:
        """Return the rows of this user; an empty QuerySet for None or an anonymous user."""
        if user is None or isinstance(user, AnonymousUser) or not user.is_authenticated:
            return self.none()
        return self.filter(**{self.owner_path: user})

    def for_owner_by_time(self, user: Any) -> Self:
        """Return the rows of this user in a form for queries that also limit the time of a row.

        The database then uses the index on time instead of reading all conversations of the user: an
        expression has no index, so the planner starts with the other condition.
        """
        return self.filter(Exact(Coalesce(self.owner_path, 0), user.pk))


class UUIDModel(models.Model):
    """A row with a random UUID as its key, so that a URL does not reveal how many rows there are."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)

    class Meta:
        abstract = True


class OwnedModel(UUIDModel):
    """A row that belongs to one user and is deleted with the user."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta:
        abstract = True
