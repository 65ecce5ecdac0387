"""An app: a room of conversations with its own persona (seed 003)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from .base import OwnedModel, OwnedQuerySet

# Slug and name of the app that everybody begins with.
FIRST = ("general", "General")


class Strategy(models.TextChoices):
    """What a conversation keeps in its prompt when it outgrows the window (seed 001; design §6)."""

    HYBRID = "hybrid", _("summary, marked and newest messages")
    SUMMARIZATION = "summarization", _("summary and the last twenty messages")
    SIMPLE = "simple", _("newest messages only")
    TOPICS = "topics", _("by topic")


class AppQuerySet(OwnedQuerySet["App"]):
    """Reads of apps."""

    def active(self) -> AppQuerySet:
        """Return what is not archived."""
        return self.filter(archived_at__isnull=True)


class App(OwnedModel):
    """A separate room with its own persona; core facts go everywhere, app memories stay here."""

    slug = models.SlugField(max_length=60)
    name = models.CharField(max_length=80)
    persona = models.TextField(blank=True)
    strategy = models.CharField(max_length=16, choices=Strategy, default=Strategy.HYBRID)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # Put away ("uninstalled" in seed 003): out of the lists; conversations and memories stay.
    archived_at = models.DateTimeField(null=True, blank=True)

    objects = AppQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["created_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["owner", "slug"], name="one_app_a_slug"),
        ]

    def get_absolute_url(self) -> str:
        """Return the address of its page."""
        return reverse("app", args=[self.pk])

    def __str__(self) -> str:
        # The first app is made before anybody has said which language they read.
        return gettext("General") if (self.slug, self.name) == FIRST else self.name
