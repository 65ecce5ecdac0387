"""Messages, and the reports on the prompts of replies."""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.db import OperationalError, models
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import OwnedQuerySet, UUIDModel
from .conversation import Conversation, MemoryMode

logger = logging.getLogger(__name__)

# Messages that an import inserted behind messages that wait for extraction are never extracted.
LEARNABLE = models.Q(imported=None)


class Role(models.TextChoices):
    """Who wrote a message."""

    SYSTEM = "system", _("system")
    USER = "user", _("user")
    ASSISTANT = "assistant", _("assistant")
    TOOL = "tool", _("tool")


class MessageState(models.TextChoices):
    """The progress of a message. Only replies are ever anything but complete."""

    STREAMING = "streaming", _("streaming")
    COMPLETE = "complete", _("complete")
    STOPPED = "stopped", _("stopped")
    FAILED = "failed", _("failed")


class MessageQuerySet(OwnedQuerySet["Message"]):
    """Queries on messages."""

    owner_path = "conversation__owner"

    def current_branch(self) -> MessageQuerySet:
        """Return the messages of the current branch in order.

        Messages that were replaced by an edit or a new reply are left out.
        """
        return self.filter(replaced_by__isnull=True).order_by("seq")

    def visible_before(self, message: Message) -> MessageQuerySet:
        """Return the messages before this one that the model may see, in order."""
        return self.current_branch().filter(seq__gt=message.conversation.cleared_through, seq__lt=message.seq)

    def not_empty(self) -> MessageQuerySet:
        """Leave out the messages for which `is_empty` is true once their contents are loaded."""
        is_empty = (models.Q(tool_calls=None) | models.Q(tool_calls=[])) & ~models.Q(role=Role.TOOL)
        return self.exclude(is_empty, content="", archive__isnull=True)

    def newest_version(self, message: Message) -> Message:
        """Return the message that replaces this one now: itself where it was not replaced, else the end of
        its chain of replacements.
        """
        if message.replaced_by_id is None:
            return message
        replaced = self.filter(conversation=message.conversation_id, replaced_by__isnull=False)
        newer = dict(replaced.values_list("pk", "replaced_by"))
        key: Any = message.pk
        while key in newer:
            key = newer[key]
        return self.get(pk=key)

    def said_by(self, moment: datetime) -> MessageQuerySet:
        """Return the messages that count as said at that moment or before it."""
        return self.filter(
            models.Q(ordered_at=None, created_at__lte=moment) | models.Q(ordered_at__lte=moment)
        )

    def load_undamaged(self) -> list[Message]:
        """Return all rows as a list.

        A row whose data is damaged is logged and left out; other database errors are raised.
        """
        try:
            return list(self)
        except (TypeError, ValueError, OperationalError) as error:
            if not _is_damage(error):
                raise
        found: list[Message] = []
        for seq in self.values_list("seq", flat=True):
            try:
                found.extend(self.filter(seq=seq))
            except (TypeError, ValueError, OperationalError) as error:
                if not _is_damage(error):
                    raise
                # SQLite's error message quotes the text, so the exception is not logged.
                logger.error("the message in place %s cannot be read and is left out", seq)
        return found

    def not_extracted(self, conversation: Conversation) -> MessageQuerySet:
        """Return the user messages of the current branch that extraction has not processed, oldest first."""
        return self.filter(
            LEARNABLE, conversation=conversation, role=Role.USER, seq__gt=conversation.extraction_through
        ).current_branch()

    def backlog(self, owner: User) -> MessageQuerySet:
        """Return all user messages of this owner that extraction has not processed, in conversations with
        memory on.
        """
        return self.for_owner(owner).filter(
            LEARNABLE,
            role=Role.USER,
            replaced_by__isnull=True,
            conversation__deletion=None,
            conversation__memory_mode=MemoryMode.ON,
            seq__gt=Greatest("conversation__extracted_through", "conversation__imported_through"),
        )


def _is_damage(error: Exception) -> bool:
    # SQLite reports text that is not UTF-8 as an OperationalError; other OperationalErrors are about locks
    # and disks.
    return not isinstance(error, OperationalError) or "decode" in str(error)


class Message(UUIDModel):
    """One message.

    `seq` orders messages within a conversation, and the conversation's watermarks refer to it.
    """

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages")
    seq = models.PositiveIntegerField()
    role = models.CharField(max_length=10, choices=Role)
    content = models.TextField(blank=True)
    state = models.CharField(max_length=10, choices=MessageState, default=MessageState.COMPLETE)
    failure = models.CharField(max_length=300, blank=True)
    # The text in which the model reasoned before it wrote this reply, and how many seconds that took. The
    # page shows it; no later prompt, export or search contains it.
    reasoning = models.TextField(blank=True)
    reasoning_seconds = models.FloatField(null=True, blank=True)
    # The reply ended because it had as many tokens as a reply may have.
    cut_off = models.BooleanField(default=False)
    # The process that writes it, or wrote it; of replies only.
    process = models.UUIDField(null=True, blank=True, editable=False)
    # The turn note that was sent with this message, as rendered. It is sent again unchanged, so that the
    # prompt cache stays valid.
    note = models.TextField(blank=True)
    replaced_by = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="replaces"
    )
    # Flagged by the user: it stays in the prompt when the prompt is compacted.
    flagged = models.BooleanField(default=False)
    # How important its words are, 0 to 1, scored when it was saved. None: not scored, so it is computed where
    # it is needed. 0 where the user removed the mark: that overrules the score.
    importance = models.FloatField(null=True, blank=True)
    # Parts that neither extraction, recall nor summaries use, as [start, end] in the content: what the user
    # asked not to save, and with the key of a deletion as a third element what says a forgotten fact.
    kept_out = models.JSONField(default=list, blank=True)
    # True: imported behind messages that wait for extraction, so extraction skips it. None: the
    # conversation's watermarks decide.
    imported = models.BooleanField(null=True)
    # True: imported without a date of its own, so `created_at` was derived from the messages before it, or is
    # a placeholder. None: `created_at` is known.
    date_inferred = models.BooleanField(null=True)
    topic = models.ForeignKey(
        "chat.Topic", null=True, blank=True, on_delete=models.SET_NULL, related_name="messages"
    )
    # The archive that holds the content; `content` is empty then. The row itself stays.
    archive = models.ForeignKey(
        "chat.TopicArchive", null=True, blank=True, on_delete=models.RESTRICT, related_name="messages"
    )
    # Sent by a program, through /v1 or the REST API: nobody sees what the page asks under the reply.
    by_program = models.BooleanField(default=False)
    tool_calls = models.JSONField(null=True, blank=True)
    tool_call_id = models.CharField(max_length=120, blank=True)
    name = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    # Set where the clock was set wrongly: the date that puts the message before or after a deletion as it
    # happened. None: `created_at` does so.
    ordered_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = MessageQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["conversation", "seq"]
        # For decay, which asks on which days an owner wrote, and for the admin site's list by date.
        indexes: ClassVar = [
            models.Index(fields=["created_at"], name="message_time"),
            models.Index(
                fields=["ordered_at"], condition=models.Q(ordered_at__isnull=False), name="message_order"
            ),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["conversation", "seq"], name="one_message_a_place"),
            models.UniqueConstraint(
                fields=["conversation"],
                condition=models.Q(state="streaming"),
                name="one_active_reply_a_conversation",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.seq}"

    @property
    def said_at(self) -> datetime:
        """When it counts as said, compared with the times at which the owner has forgotten something."""
        return self.ordered_at or self.created_at

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing, as a failed reply; a tool call or a result without text says something."""
        return not (self.content or self.tool_calls or self.role == Role.TOOL)


class PromptReportQuerySet(OwnedQuerySet["PromptReport"]):
    """Queries on prompt reports."""

    owner_path = "reply__conversation__owner"


class PromptReport(models.Model):
    """What the prompt of one reply contained: tokens by section, facts, what was left out, cached and
    evaluated tokens.
    """

    reply = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="report", primary_key=True)
    sections = models.JSONField(default=dict)
    facts = models.JSONField(default=list)
    cut_messages = models.PositiveIntegerField(default=0)
    # The stage of compaction for this reply: 0 none, 1 messages trimmed, 2 memories trimmed, 3 last messages
    # shortened.
    stage = models.PositiveSmallIntegerField(default=0)
    # Facts that were relevant but did not fit into the budget.
    left_out = models.JSONField(default=list)
    # True: the message alone was larger than the window, so its middle was left out.
    shortened = models.BooleanField(default=False)
    prompt_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    window = models.PositiveIntegerField(default=0)
    first_token_ms = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = PromptReportQuerySet.as_manager()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["created_at"], name="prompt_report_time")]

    def __str__(self) -> str:
        return f"{self.prompt_tokens} tokens, {self.cached_tokens} cached"

    @property
    def summarised(self) -> bool:
        """Whether the prompt contained a summary in place of earlier messages."""
        return bool(self.sections.get("summary"))
