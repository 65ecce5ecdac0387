"""The entity graph: what the owner's facts speak of, and how it hangs together (seed 000, phase 3)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import OwnedModel, OwnedQuerySet
from .fact import Fact


class EntityType(models.TextChoices):
    """What an entity is."""

    PERSON = "person", _("person")
    PROJECT = "project", _("project")
    CONCEPT = "concept", _("concept")
    TOOL = "tool", _("tool")
    PLACE = "place", _("place")
    ORGANISATION = "organisation", _("organisation")


class Entity(OwnedModel):
    """Something that facts speak of; unique by owner and name, whatever the case of its letters."""

    name = models.CharField(max_length=120)
    # The form in which equal names are equal (`chat.memory.similar.normalise`).
    key = models.CharField(max_length=120)
    type = models.CharField(max_length=12, choices=EntityType)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects: ClassVar[OwnedQuerySet[Entity]] = OwnedQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        verbose_name_plural = "entities"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "key"], name="one_entity_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class RelationshipQuerySet(OwnedQuerySet["Relationship"]):
    """Reads of relationships."""

    def visible(self) -> RelationshipQuerySet:
        """Return those whose fact is not on its way out, with their two ends."""
        return self.filter(source_fact__deletion__isnull=True).select_related("source", "target")


class Relationship(OwnedModel):
    """One entity's tie to another; obsolete ones stay, with `valid` False, until their fact is forgotten."""

    # None is the owner.
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
