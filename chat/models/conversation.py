"""A conversation (seed 001 calls it a session)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .app import App, Strategy
from .base import OwnedModel, OwnedQuerySet
from .deletion import Deletion


class MemoryMode(models.TextChoices):
    """What memory may do in one conversation."""

    ON = "on", _("on")
    READ_ONLY = "read_only", _("read-only")
    OFF = "off", _("off")


class TitledBy(models.TextChoices):
    """Who gave a conversation its title."""

    OPENING = "opening", _("its first words")
    MODEL = "model", _("the model")
    USER = "user", _("the user")


class ConversationQuerySet(OwnedQuerySet["Conversation"]):
    """Reads of conversations."""

    def kept(self) -> ConversationQuerySet:
        """Return what is not on its way out."""
        return self.filter(deletion__isnull=True)

    def listed(self) -> ConversationQuerySet:
        """Return what stands in lists and is found by a search: neither on its way out nor temporary."""
        return self.kept().filter(temporary=False)

    def newest_first(self) -> ConversationQuerySet:
        """Return them with their app, the one last written in first."""
        return self.select_related("app").order_by("-updated_at", "-created_at", "pk")


class Conversation(OwnedModel):
    """Messages in order, with the memory block that they were begun with."""

    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="conversations")
    title = models.CharField(max_length=120, blank=True)
    # Whose words the title is: the first message's until the model has found a better one; the user's stay.
    titled_by = models.CharField(max_length=10, choices=TitledBy, default=TitledBy.OPENING)
    system_prompt = models.TextField(blank=True)
    # Empty means "as the app has it".
    strategy = models.CharField(max_length=16, choices=Strategy, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    pinned = models.BooleanField(default=False)
    memory_mode = models.CharField(max_length=10, choices=MemoryMode, default=MemoryMode.ON)
    # Memory is off in it, and it is gone once it is closed.
    temporary = models.BooleanField(default=False)
    # On its way out: out of sight at once, gone for good at the deadline (design §5).
    deletion = models.ForeignKey(
        Deletion, null=True, blank=True, on_delete=models.CASCADE, related_name="conversations"
    )
    # The block is rendered once and replayed word for word: a changed word would cost a re-read
    # of the whole conversation (design §6). None means "build it with the next prompt". Beside it, the
    # facts in it with their versions: when one has gone or changed, the block is built anew.
    memory_block = models.TextField(null=True, blank=True)  # noqa: DJ001 - "" is a built, empty block
    memory_block_facts = models.JSONField(default=dict, blank=True)
    # Messages up to this place are hidden from the model by the user's wish, and stay readable (design §9).
    cleared_through = models.PositiveIntegerField(default=0)
    # How often what was said changed behind its end: what was worked out from an earlier branch is not kept.
    branch = models.PositiveIntegerField(default=0)
    # Messages up to this place no longer go to the model (design §6, stage 1) but for those kept, by `seq`;
    # of those in `cuts` so many characters go, their middle left out. The same at every turn until the next
    # compaction, or the model would read them again.
    trimmed_through = models.PositiveIntegerField(default=0)
    kept = models.JSONField(default=list, blank=True)
    cuts = models.JSONField(default=dict, blank=True)
    # What the background has summed up so far, and through which message. It enters the prompt only when the
    # prompt is compacted; `prompt_summary` is what stands there until the next time, word for word.
    summary = models.TextField(blank=True)
    summarised_through = models.PositiveIntegerField(default=0)
    prompt_summary = models.TextField(blank=True)
    # The next compaction, worked out and read in advance; None when nothing is prepared.
    prepared = models.JSONField(null=True, blank=True)
    extracted_through = models.PositiveIntegerField(default=0)
    # Up to this place messages are read though the model is busy: a backlog, or a page that was left.
    flushed_through = models.PositiveIntegerField(default=0)
    # What the app remembered of the messages up to this place was forgotten, and is not written anew.
    app_memory_after = models.PositiveIntegerField(default=0)
    # Up to this place it was imported: memory learns nothing of it and its app does not tell of it, however
    # far they had come elsewhere (design §5), unless the owner asked for it.
    imported_through = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = ConversationQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["owner", "-updated_at"], name="conversation_recent")]

    @property
    def manner(self) -> str:
        """The strategy in force: its own, or else its app's."""
        return self.strategy or self.app.strategy

    @property
    def is_flushed(self) -> bool:
        """Whether messages wait here that memory is to read though the model is busy."""
        return self.flushed_through > self.read_through

    @property
    def read_through(self) -> int:
        """The place up to which memory reads nothing any more."""
        return max(self.extracted_through, self.imported_through)

    @property
    def told_through(self) -> int:
        """The place up to which its app is told nothing any more."""
        return max(self.app_memory_after, self.imported_through)

    def get_absolute_url(self) -> str:
        """Return the address of its page."""
        return reverse("conversation", args=[self.pk])

    def __str__(self) -> str:
        return str(_("Temporary chat")) if self.temporary else self.title or str(_("New chat"))
