"""Conversations: create, rename, pin, move, set modes, keep and end."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from chat.errors import Refused
from chat.models import (
    App,
    Conversation,
    Fact,
    Job,
    MemoryMode,
    Message,
    Role,
    Strategy,
    TitledBy,
    User,
)

from . import app_memories, events, indexing
from .clock import AHEAD
from .conversation_jobs import IDLE_END, flush_extraction, schedule_discard, schedule_idle_end
from .conversation_titles import make_opening_title
from .erasure import discard_temporary
from .owners import SWITCH_VALUES, default_app, lock_memory, require_active_app

# Pages reconnect within 15 s after a restart of the server (static/js/socket.js).
RECONNECT_WINDOW = timedelta(seconds=20)
LONGEST_TITLE = 120  # characters; the column's length


def create_conversation(owner: User, key: Any = None, **fields: Any) -> Conversation:
    """Create an empty conversation; `fields` are columns, and `app` defaults to the owner's first app.

    With the key of an existing conversation of this owner, that one is returned unchanged. Raises Refused
    when the app is archived.
    """
    fields = {"app": default_app(owner), **fields}
    existing = None if key is None else Conversation.objects.filter(pk=key, owner=owner).first()
    if existing is not None:
        return existing
    require_active_app(fields["app"])
    with transaction.atomic():
        if key is None:
            made = Conversation.objects.create(owner=owner, **fields)
        else:
            made = Conversation.objects.get_or_create(pk=key, owner=owner, defaults=fields)[0]
        if made.title:
            indexing.index_title(made.pk)
    return made


def rename_conversation(conversation: Conversation, title: str) -> None:
    """Set the title that the user wrote; no model changes it afterwards. Raises Refused when it is empty."""
    title = " ".join(title.replace("\x00", "").split())
    if not title:
        raise Refused("title-empty")
    _update_conversation(conversation, title=title[:LONGEST_TITLE], titled_by=TitledBy.USER)


def pin_conversation(conversation: Conversation, pinned: bool) -> None:
    """Pin a conversation above the others of its app, or unpin it; pruning skips pinned ones."""
    _update_conversation(conversation, pinned=pinned)


def move_conversation(conversation: Conversation, app: App) -> None:
    """Move a conversation and its app memory to another app of its owner; it gets that app's persona.

    Raises Refused when the app is archived, or has no free place for the memory.
    """
    with transaction.atomic():
        lock_memory(conversation.owner_id)
        require_active_app(app)
        app_memories.move_with_conversation(conversation, app)
        # The prompt starts with the app's persona, so the memory block and the prepared compaction are
        # outdated.
        _update_conversation(conversation, app=app, memory_block=None, memory_block_facts={}, prepared=None)


def set_reasoning(conversation: Conversation, switch: str) -> None:
    """Set whether a model that can reason does so before its replies here: "on" or "off". Raises Refused."""
    if switch not in SWITCH_VALUES:
        raise Refused("switch-unknown")
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(use_reasoning=SWITCH_VALUES[switch])
        events.send_on_commit(conversation.owner_id, "chat", conversation=str(conversation.pk))


def set_strategy(conversation: Conversation, strategy: str) -> None:
    """Set the compaction strategy of a conversation; "" uses the app's.

    The prompt keeps its content until the next compaction; a prepared compaction is discarded. Raises
    Refused.
    """
    if strategy and strategy not in Strategy.values:
        raise Refused("strategy-unknown")
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(strategy=strategy, prepared=None)
        events.send_on_commit(conversation.owner_id, "chat", conversation=str(conversation.pk))


def set_memory_mode(conversation: Conversation, mode: str) -> None:
    """Set whether memory learns and is used here (on), is only used (read_only), or neither (off).

    Messages sent while the mode is not on are never extracted; neither are those that wait when it is
    turned off. Raises Refused for an unknown mode, and for a temporary conversation.
    """
    if mode not in MemoryMode.values:
        raise Refused("memory-mode-unknown")
    if conversation.temporary:
        raise Refused("memory-off-in-temporary")
    with transaction.atomic():
        fresh = Conversation.objects.select_for_update().get(pk=conversation.pk)
        if fresh.memory_mode == mode:
            return
        if MemoryMode.OFF in (mode, fresh.memory_mode):
            # The start of the prompt depends on the mode.
            fresh.memory_block, fresh.memory_block_facts, fresh.prepared = None, {}, None
        last = Message.objects.filter(conversation=fresh).aggregate(n=Max("seq"))["n"] or 0
        if fresh.memory_mode != MemoryMode.ON:
            # The app memory must not cover these messages either.
            fresh.app_memory_after = max(last, fresh.app_memory_after)
        fresh.memory_mode = mode
        if mode != MemoryMode.ON:
            fresh.extracted_through = max(last, fresh.extracted_through)
        fresh.save(
            update_fields=[
                *("memory_mode", "extracted_through", "memory_block", "memory_block_facts", "prepared"),
                "app_memory_after",
            ]
        )
        events.send_on_commit(fresh.owner_id, "chat", conversation=str(fresh.pk))


def set_past_chats(conversation: Conversation, switch: str) -> None:
    """Set whether prompts of this conversation may quote past ones; quotations in its history follow.

    Raises Refused.
    """
    if switch not in SWITCH_VALUES:
        raise Refused("switch-unknown")
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(use_past_chats=SWITCH_VALUES[switch])
        events.send_on_commit(conversation.owner_id, "chat", conversation=str(conversation.pk))


def keep_temporary(conversation: Conversation) -> bool:
    """Make a temporary conversation permanent; returns False when it is permanent already.

    Memory extracts only from later messages.
    """
    first = Message.objects.filter(conversation=conversation, role=Role.USER).exclude(content="").first()
    # It may embed sentences, so it precedes the transaction.
    title = make_opening_title(first.content) if first else ""
    with transaction.atomic():
        fresh = Conversation.objects.select_for_update().get(pk=conversation.pk)
        if not fresh.temporary:
            return False
        fresh.temporary, fresh.title, fresh.use_past_chats = False, title, True
        fresh.save(update_fields=["temporary", "title", "use_past_chats"])
        set_memory_mode(fresh, MemoryMode.ON)
        events.send_on_commit(fresh.owner_id, "conversations")
    return True


def _update_conversation(conversation: Conversation, **fields: object) -> None:
    with transaction.atomic():
        Conversation.objects.filter(pk=conversation.pk).update(**fields)
        if "title" in fields:
            indexing.index_title(conversation.pk)
        events.send_on_commit(conversation.owner_id, "conversations")


def end_conversation(conversation: Conversation) -> bool:
    """End a conversation and extract what waits in it; returns False when it had ended already.

    A running reply continues; the next message reopens the conversation. A temporary one is deleted
    instead.
    """
    if conversation.temporary:
        return discard_temporary(conversation.pk)
    with transaction.atomic():
        ended = Conversation.objects.filter(pk=conversation.pk, ended_at__isnull=True).update(
            ended_at=timezone.now()
        )
        if ended:
            flush_extraction(conversation.pk)
            app_memories.queue_app_memory(conversation)
            events.send_on_commit(conversation.owner_id, "chat", conversation=str(conversation.pk))
    return bool(ended)


def end_if_idle(conversation_id: Any, now: datetime) -> datetime | None:
    """End a conversation that has been idle for `IDLE_END`; otherwise return when to try again, if ever."""
    conversation = (
        Conversation.objects.not_deleted().select_related("owner").filter(pk=conversation_id).first()
    )
    if conversation is None or conversation.ended_at is not None:
        return None
    # A date ahead was written by a wrong clock, and nobody writes now: the job waited IDLE_END already.
    if now < (idle_since := conversation.updated_at + IDLE_END) <= now + IDLE_END + AHEAD:
        return idle_since
    end_conversation(conversation)
    return None


def schedule_end_after_close(conversation_id: Any) -> None:
    """Schedule the end of a conversation whose last page was closed; a temporary one is deleted soon."""
    if Conversation.objects.filter(pk=conversation_id, temporary=True).exists():
        schedule_discard(conversation_id, timezone.now() + RECONNECT_WINDOW)
    if Conversation.objects.not_deleted().filter(pk=conversation_id, ended_at__isnull=True).exists():
        schedule_idle_end(conversation_id)


def postpone_ends_at_start(now: datetime) -> None:
    """Give open pages time to reconnect before their conversations end; called when the process starts and no
    other one has pages.
    """
    soon = now + RECONNECT_WINDOW
    for pk in list(Conversation.objects.filter(temporary=True).values_list("pk", flat=True)):
        schedule_discard(pk, soon)
    Job.objects.filter(kind="end_idle", run_after__lt=soon).update(run_after=soon)


def discard_unless_opened(conversation_ids: Iterable[str], now: datetime) -> None:
    """Let temporary conversations end that were open in a dead process, unless their pages reconnect to
    another one before. In the caller's transaction.
    """
    there = Conversation.objects.filter(pk__in=list(conversation_ids), temporary=True)
    for key in list(there.values_list("pk", flat=True)):
        schedule_discard(key, now + RECONNECT_WINDOW)


def postpone_discard(conversation_id: Any) -> None:
    """Postpone the deletion of a temporary conversation that is open in a page."""
    if Conversation.objects.filter(pk=conversation_id, temporary=True).exists():
        schedule_discard(conversation_id, timezone.now() + IDLE_END)


def find_facts_learned_in(conversation: Conversation) -> QuerySet[Fact]:
    """Return the live facts that were learned in this conversation."""
    return Fact.objects.filter(owner=conversation.owner_id, source_conversation=conversation).live()
