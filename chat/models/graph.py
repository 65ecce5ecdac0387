"""The entity graph: the entities that facts mention, and the relationships between them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import OwnedModel, OwnedQuerySet
from .fact import Fact


class EntityType(models.TextChoices):
    """The types of entities."""

    PERSON = "person", _("person")
    PROJECT = "project", _("project")
    CONCEPT = "concept", _("concept")
    TOOL = "tool", _("tool")
    PLACE = "place", _("place")
    ORGANISATION = "organisation", _("organisation")


class Entity(OwnedModel):
    """Something that facts mention. The name is unique for each owner, ignoring case."""

    name = models.CharField(max_length=120)
    # The normalised name (`chat.memory.text_similarity.normalise`): names with the same key are the same
    # entity.
    key = models.CharField(max_length=120)
    type = models.CharField(max_length=12, choices=EntityType)
    # The vector of the name, float32 of shape (dimensions,), and the embedder that made it; "" without one.
    embedding = models.BinaryField(null=True, editable=False)
    embedder = models.CharField(max_length=60, blank=True, default="", editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[OwnedQuerySet[Entity]] = OwnedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        verbose_name_plural = "entities"
        # For lists of one type, which are ordered by key.
        indexes: ClassVar = [models.Index(fields=["owner", "type", "key"], name="entity_type")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "key"], name="one_entity_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class RelationshipQuerySet(OwnedQuerySet["Relationship"]):
    """Queries on relationships."""

    def visible(self) -> RelationshipQuerySet:
        """Return the relationships whose fact has no pending deletion, with their entities."""
        return self.filter(source_fact__deletion__isnull=True).select_related("source", "target")


class Relationship(OwnedModel):
    """A relationship between two entities.

    An obsolete one stays with `valid=False` until its fact is deleted.
    """

    # None: the owner.
    source = models.ForeignKey(
        Entity, null=True, blank=True, on_delete=models.CASCADE, related_name="relations_from"
    )
    target = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="relations_to")
    relation = models.CharField(max_length=30)
    valid = models.BooleanField(default=True)
    source_fact = models.ForeignKey(Fact, on_delete=models.CASCADE, related_name="relationships")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = RelationshipQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["created_at", "id"]

    def __str__(self) -> str:
        return f"{self.source or 'User'} {self.relation} {self.target}"
