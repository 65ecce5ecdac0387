"""What the index of words holds: one row a message that was said, and one a title."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models

from .base import OwnedQuerySet
from .conversation import Conversation
from .message import Message


class SearchEntryQuerySet(OwnedQuerySet["SearchEntry"]):
    """Reads of entries."""


class SearchEntry(models.Model):
    """The words of a message, or of a conversation's title where there is no message.

    The database keeps its own full text index in step with these rows: on SQLite by triggers on this table,
    on PostgreSQL by a column that it works out (migration 0009). So it agrees with them after every
    transaction, and whatever deletes a conversation takes its words along. A later migration that changes
    this table has to make the triggers anew, since Django replaces the table on SQLite.

    Newer entries have larger keys: the index is read from its newest end.
    """

    # Without an index of its own, which nothing would read: the shelf says it.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="+")
    message = models.OneToOneField(
        Message, null=True, blank=True, on_delete=models.CASCADE, related_name="search_entry"
    )
    # Whose words, and of what kind, as one word of the index: nobody's search walks through another's.
    shelf = models.CharField(max_length=24, editable=False)
    words = models.TextField(blank=True)

    objects = SearchEntryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "search entries"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["conversation"], condition=models.Q(message__isnull=True), name="one_entry_a_title"
            ),
        ]

    def __str__(self) -> str:
        return f"entry {self.pk}"


def shelf_of(owner_id: Any, *, titles: bool = False) -> str:
    """Return the shelf of an owner's messages, or of their titles."""
    return f"{'t' if titles else 'm'}{owner_id}"
