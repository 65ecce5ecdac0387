"""One message, and what the prompt of a reply was made of."""

from __future__ import annotations

import logging
from typing import Any, ClassVar

from django.db import OperationalError, models
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from .base import OwnedQuerySet, UUIDModel
from .conversation import Conversation, MemoryMode

logger = logging.getLogger(__name__)

# Of what came in behind unread messages memory learns nothing.
TO_LEARN_FROM = models.Q(imported=None)


class Role(models.TextChoices):
    """Who speaks (seed 001)."""

    SYSTEM = "system", _("system")
    USER = "user", _("user")
    ASSISTANT = "assistant", _("assistant")
    TOOL = "tool", _("tool")


class MessageState(models.TextChoices):
    """How far a message has come; only replies are ever anything but complete."""

    STREAMING = "streaming", _("streaming")
    COMPLETE = "complete", _("complete")
    STOPPED = "stopped", _("stopped")
    FAILED = "failed", _("failed")


class MessageQuerySet(OwnedQuerySet["Message"]):
    """Reads of messages."""

    owner_path = "conversation__owner"

    def shown(self) -> MessageQuerySet:
        """Return the current branch in order: a replaced message is kept, not shown."""
        return self.filter(replaced_by__isnull=True).order_by("seq")

    def seen_before(self, message: Message) -> MessageQuerySet:
        """Return what a model may see of what its conversation held before a message, in order."""
        return self.shown().filter(seq__gt=message.conversation.cleared_through, seq__lt=message.seq)

    def now_shown(self, message: Message) -> Message:
        """Return what stands in the place of a message: itself unless it was replaced, however often."""
        if message.replaced_by_id is None:
            return message
        replaced = self.filter(conversation=message.conversation_id, replaced_by__isnull=False)
        newer = dict(replaced.values_list("pk", "replaced_by"))
        key: Any = message.pk
        while key in newer:
            key = newer[key]
        return self.get(pk=key)

    def readable(self) -> list[Message]:
        """Return them all; a row that is damaged is logged and left out (seed 001, "Corrupted data")."""
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
                # SQLite's sentence quotes the text.
                logger.error("the message in place %s cannot be read and is left out", seq)
        return found

    def unread_by_memory(self, conversation: Conversation) -> MessageQuerySet:
        """Return the user's messages that extraction has not looked at yet, oldest first.

        What the user took back by sending other words in its place is not read any more.
        """
        return self.filter(
            TO_LEARN_FROM, conversation=conversation, role=Role.USER, seq__gt=conversation.read_through
        ).shown()

    def backlog(self, owner: Any) -> MessageQuerySet:
        """Return all that this person said and memory has not looked at yet, where memory is on."""
        return self.for_owner(owner).filter(
            TO_LEARN_FROM,
            role=Role.USER,
            replaced_by__isnull=True,
            conversation__deletion=None,
            conversation__memory_mode=MemoryMode.ON,
            seq__gt=Greatest("conversation__extracted_through", "conversation__imported_through"),
        )


def _is_damage(error: Exception) -> bool:
    # SQLite tells of text that is none by an operational error; the others have to do with locks and disks.
    return not isinstance(error, OperationalError) or "decode" in str(error)


class Message(UUIDModel):
    """A message; `seq` orders it within its conversation and serves as the watermark of extraction."""

    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages")
    seq = models.PositiveIntegerField()
    role = models.CharField(max_length=10, choices=Role)
    content = models.TextField(blank=True)
    state = models.CharField(max_length=10, choices=MessageState, default=MessageState.COMPLETE)
    failure = models.CharField(max_length=300, blank=True)
    # What went to the model with this message, as rendered; replayed word for word (design §6).
    note = models.TextField(blank=True)
    replaced_by = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="replaces"
    )
    # The user's mark: kept in the prompt when it is compacted.
    flagged = models.BooleanField(default=False)
    # It came in behind what memory has not read yet, and is passed over; None goes by the watermarks.
    imported = models.BooleanField(null=True)
    topic = models.ForeignKey(
        "chat.Topic", null=True, blank=True, on_delete=models.SET_NULL, related_name="messages"
    )
    # Where the content lies while it is packed (seed 002); the row stays, its content is empty meanwhile.
    archive = models.ForeignKey(
        "chat.TopicArchive", null=True, blank=True, on_delete=models.RESTRICT, related_name="messages"
    )
    tool_calls = models.JSONField(null=True, blank=True)
    tool_call_id = models.CharField(max_length=120, blank=True)
    name = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = MessageQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["conversation", "seq"]
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


class PromptReportQuerySet(OwnedQuerySet["PromptReport"]):
    """Reads of prompt reports."""

    owner_path = "reply__conversation__owner"


class PromptReport(models.Model):
    """What one reply's prompt was made of: tokens by section, facts, what was cut, cached and read."""

    reply = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="report", primary_key=True)
    sections = models.JSONField(default=dict)
    facts = models.JSONField(default=list)
    cut_messages = models.PositiveIntegerField(default=0)
    # How the prompt was compacted for this reply: 0 not at all, 1–3 by which stage (design §6).
    stage = models.PositiveSmallIntegerField(default=0)
    # Facts that had a claim and found no room.
    left_out = models.JSONField(default=list)
    # The message alone was larger than the window: its middle was left out.
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
        """Whether a summary stood in the prompt in the place of earlier messages."""
        return bool(self.sections.get("summary"))
