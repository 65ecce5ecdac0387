"""An app: a group of conversations with its own persona, strategy and app memories."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .base import OwnedModel, OwnedQuerySet

# Slug and name of the app that every new owner gets.
FIRST_APP = ("general", "General")


class Strategy(models.TextChoices):
    """How a conversation that no longer fits into the model's window is shortened for the prompt."""

    HYBRID = "hybrid", _("summary, marked and newest messages")
    SUMMARIZATION = "summarization", _("summary and the last twenty messages")
    SIMPLE = "simple", _("newest messages only")
    TOPICS = "topics", _("by topic")


class AppQuerySet(OwnedQuerySet["App"]):
    """Queries on apps."""

    def active(self) -> AppQuerySet:
        """Return the apps that are not archived."""
        return self.filter(archived_at__isnull=True)


class App(OwnedModel):
    """A group of conversations with its own persona.

    Facts are shared by all apps of an owner; app memories stay in their app.
    """

    slug = models.SlugField(max_length=60)
    name = models.CharField(max_length=80)
    persona = models.TextField(blank=True)
    strategy = models.CharField(max_length=16, choices=Strategy, default=Strategy.HYBRID)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # Archived apps are left out of lists; their conversations and memories stay.
    archived_at = models.DateTimeField(null=True, blank=True)

    objects = AppQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["created_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "slug"], name="one_app_a_slug"),
        ]

    def get_absolute_url(self) -> str:
        """Return the URL of the app's page."""
        return reverse("app", args=[self.pk])

    def __str__(self) -> str:
        # Translated here and not when it is created: the owner's language is not known then.
        return gettext("General") if (self.slug, self.name) == FIRST_APP else self.name
