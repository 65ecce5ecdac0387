"""A conversation: an ordered list of messages, and the state of its prompt."""

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
    """Whether memory reads and is used in one conversation: both, only used, or neither."""

    ON = "on", _("on")
    READ_ONLY = "read_only", _("read-only")
    OFF = "off", _("off")


class TitledBy(models.TextChoices):
    """Who wrote a conversation's title."""

    OPENING = "opening", _("its first words")
    MODEL = "model", _("the model")
    USER = "user", _("the user")


class ConversationQuerySet(OwnedQuerySet["Conversation"]):
    """Queries on conversations."""

    def not_deleted(self) -> ConversationQuerySet:
        """Return the conversations without a pending deletion."""
        return self.filter(deletion__isnull=True)

    def listed(self) -> ConversationQuerySet:
        """Return the conversations that lists and searches show: no pending deletion, not temporary."""
        return self.not_deleted().filter(temporary=False)

    def newest_first(self) -> ConversationQuerySet:
        """Return the conversations with their apps, the most recently changed first."""
        return self.select_related("app").order_by("-updated_at", "-created_at", "pk")


class Conversation(OwnedModel):
    """A conversation with its messages' watermarks and the state of its prompt.

    Fields that end in `_through` hold a `Message.seq`.
    """

    app = models.ForeignKey(App, on_delete=models.PROTECT, related_name="conversations")
    title = models.CharField(max_length=120, blank=True)
    # The first message's words are the title until the model has written a better one; a title of the user is
    # never replaced.
    titled_by = models.CharField(max_length=10, choices=TitledBy, default=TitledBy.OPENING)
    system_prompt = models.TextField(blank=True)
    # Empty: the app's strategy is used.
    strategy = models.CharField(max_length=16, choices=Strategy, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    pinned = models.BooleanField(default=False)
    memory_mode = models.CharField(max_length=10, choices=MemoryMode, default=MemoryMode.ON)
    # Whether a model that can reason does so before its replies here.
    use_reasoning = models.BooleanField(default=False)
    # Whether prompts of this conversation may quote past ones, if memory and the owner's settings allow it.
    use_past_chats = models.BooleanField(default=True)
    # When the owner kept it, after it was to be deleted by age.
    kept_at = models.DateTimeField(null=True, blank=True)
    # Memory is off, and the conversation is deleted when its page is closed.
    temporary = models.BooleanField(default=False)
    # Set while the deletion is pending: the conversation is hidden at once and deleted after the deadline.
    deletion = models.ForeignKey(
        Deletion, null=True, blank=True, on_delete=models.CASCADE, related_name="conversations"
    )
    # The memory block is rendered once and reused unchanged: a changed word invalidates the model's prompt
    # cache, and the whole conversation would be evaluated again. None: build it with the next prompt.
    # `memory_block_facts` maps the ids of the facts in it to their versions; when one is deleted or changed,
    # the block is rebuilt.
    memory_block = models.TextField(null=True, blank=True)  # noqa: DJ001 - "" is a built, empty block
    memory_block_facts = models.JSONField(default=dict, blank=True)
    # Messages up to this `seq` are hidden from the model by `/clear`; the page still shows them.
    cleared_through = models.PositiveIntegerField(default=0)
    # Incremented on edit and regenerate; results computed for an older branch are discarded.
    branch = models.PositiveIntegerField(default=0)
    # Compaction: messages up to `trimmed_through` are left out of the prompt, except those in `kept` (list of
    # `seq`). `cuts` maps a `seq` to the number of characters that remain of a long message, whose middle is
    # left out. All three stay the same until the next compaction, so that the prompt cache stays valid.
    trimmed_through = models.PositiveIntegerField(default=0)
    kept = models.JSONField(default=list, blank=True)
    cuts = models.JSONField(default=dict, blank=True)
    # `summary` is the newest summary by a background job, up to `summarised_through`. It enters the prompt
    # only at the next compaction; `prompt_summary` is the text that is in the prompt until then.
    summary = models.TextField(blank=True)
    summarised_through = models.PositiveIntegerField(default=0)
    prompt_summary = models.TextField(blank=True)
    # Quotations from past conversations in the notes of messages up to this `seq` have left the prompt.
    unquoted_through = models.PositiveIntegerField(default=0)
    # The next compaction, computed in advance by a background job; None when there is none.
    prepared = models.JSONField(null=True, blank=True)
    extracted_through = models.PositiveIntegerField(default=0)
    # Messages up to this `seq` are in the index of past conversations by meaning (`MessageWindow`).
    windows_through = models.PositiveIntegerField(default=0)
    # Messages up to this `seq` are extracted even while the model is busy: set for a backlog and when the
    # page is left.
    flushed_through = models.PositiveIntegerField(default=0)
    # The app memory of messages up to this `seq` was deleted by the owner; it is not written again.
    app_memory_after = models.PositiveIntegerField(default=0)
    # Messages up to this `seq` were imported: they are neither extracted nor used for the app memory, unless
    # the owner asked for it during the import.
    imported_through = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)

    objects = ConversationQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["owner", "-updated_at"], name="conversation_recent")]

    @property
    def effective_strategy(self) -> str:
        """The conversation's own strategy, or its app's where it has none."""
        return self.strategy or self.app.strategy

    @property
    def has_flushed_messages(self) -> bool:
        """Whether messages wait for extraction that must not be delayed while the model is busy."""
        return self.flushed_through > self.extraction_through

    @property
    def extraction_through(self) -> int:
        """The `seq` up to which no message is extracted any more."""
        return max(self.extracted_through, self.imported_through)

    @property
    def app_memory_through(self) -> int:
        """The `seq` up to which no message is used for an app memory any more."""
        return max(self.app_memory_after, self.imported_through)

    def get_absolute_url(self) -> str:
        """Return the URL of the conversation's page."""
        return reverse("conversation", args=[self.pk])

    def __str__(self) -> str:
        return str(_("Temporary chat")) if self.temporary else self.title or str(_("New chat"))
