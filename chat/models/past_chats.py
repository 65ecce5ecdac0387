"""The index of past conversations by meaning, and the quotations from them in prompts."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from .base import OwnedQuerySet, UUIDModel
from .message import Message


class MessageWindowQuerySet(OwnedQuerySet["MessageWindow"]):
    """Queries on windows."""


class MessageWindow(models.Model):
    """A few adjacent sentences of a message, and their vector. Deleted with the message.

    The sentences are characters `start` to `end` of the message's content. `vector` has one signed byte a
    dimension, scaled so that the largest is 127: only its direction counts. It is empty where it was made
    without an embedder.
    """

    # One index on owner and key replaces that of the foreign key.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="windows")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    vector = models.BinaryField()
    embedder = models.CharField(max_length=60, blank=True)

    objects = MessageWindowQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["owner", "id"], name="window_of_owner")]

    def __str__(self) -> str:
        return f"characters {self.start} to {self.end} of message {self.message_id}"


class QuotationQuerySet(OwnedQuerySet["Quotation"]):
    """Queries on quotations."""

    owner_path = "message__conversation__owner"


class Quotation(UUIDModel):
    """A sentence of an earlier conversation in the note of a message.

    It stores the place and not the words, so that nothing is left of a message that is deleted.
    """

    # The message whose note has the quotation.
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="quotations")
    source = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="quoted_in")
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    # The order in the note.
    place = models.PositiveSmallIntegerField()
    # The owner has said that the sentence does not belong to such questions: it left the note, and the row
    # keeps it away from similar messages.
    irrelevant = models.BooleanField(default=False)

    objects = QuotationQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["place"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["message", "place"], name="one_quotation_a_place"),
        ]

    def __str__(self) -> str:
        return f"characters {self.start} to {self.end} of message {self.source_id}"
