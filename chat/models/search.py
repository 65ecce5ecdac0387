"""The rows of the full text index: one for each message, and one for each conversation's title."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models

from .base import OwnedQuerySet
from .conversation import Conversation
from .message import Message


class SearchEntryQuerySet(OwnedQuerySet["SearchEntry"]):
    """Queries on search entries."""


class SearchEntry(models.Model):
    """The normalised words of a message, or of a conversation's title where `message` is None.

    The database keeps its full text index in step with this table: SQLite by triggers, PostgreSQL by a
    generated column (migration 0009). So both agree after every transaction, and deleting a conversation
    deletes its entries. A later migration that changes this table has to create the triggers again, since
    Django replaces the table on SQLite.

    Newer entries have larger keys: searches read the index from its newest end.
    """

    # No index: queries use `shelf`.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="+")
    message = models.OneToOneField(
        Message, null=True, blank=True, on_delete=models.CASCADE, related_name="search_entry"
    )
    # Owner and kind of the entry as one word of the full text index, so that a search reads only the entries
    # of one owner.
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


def make_shelf(owner_id: Any, *, titles: bool = False) -> str:
    """Return the value of `shelf` for an owner's messages, or for the titles of their conversations."""
    return f"{'t' if titles else 'm'}{owner_id}"
