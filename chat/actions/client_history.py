"""Conversations of API clients that send the whole history with each request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from chat.models import App, Conversation, MemoryMode, Message, Role, User

from . import conversation_jobs, conversations, messages
from .message_order import find_order

# How long a temporary conversation waits for its client's next request. A continued conversation reuses the
# model's prompt cache.
RESUME_WINDOW = timedelta(minutes=10)
_HASH_KEY = "history"

History = Sequence[tuple[Role, str]]


def create_from_history(
    owner: User,
    app: App,
    history: History,
    *,
    title: str | None = None,
    system_prompt: str,
    memory_mode: str,
    use_past_chats: bool,
) -> Conversation:
    """Create a conversation that already contains these messages; memory extracts from the user's.

    Without a title (None) the conversation is temporary: memory learns nothing, whatever `memory_mode` is,
    and it is deleted after `RESUME_WINDOW`. One transaction. Raises Refused when a message is too long or
    the app is archived.
    """
    history = [(role, messages.validate_length(text)) for role, text in history]
    with transaction.atomic():
        temporary = title is None
        learns = memory_mode == MemoryMode.ON and not temporary
        made = conversations.create_conversation(
            owner,
            app=app,
            title=title or "",
            system_prompt=system_prompt,
            temporary=temporary,
            memory_mode=memory_mode,
            use_past_chats=use_past_chats,
            metadata={_HASH_KEY: ""} if temporary else {},
            extracted_through=0 if learns else len(history),
        )
        now = timezone.now()
        order = find_order(owner.pk, now)
        Message.objects.bulk_create(
            Message(
                conversation=made,
                seq=seq,
                role=role,
                content=text,
                created_at=now + timedelta(microseconds=seq),
                ordered_at=order,
            )
            for seq, (role, text) in enumerate(history, 1)
        )
        if temporary:
            _discard_later(made.pk)
    return made


def resume_conversation(
    owner: User, app: App, history: History, *, system_prompt: str, memory_mode: str, use_past_chats: bool
) -> Conversation | None:
    """Return the waiting temporary conversation that this history continues, or None.

    Its mark is removed, so that no second request continues it too. One transaction.
    """
    if not history:
        return None
    mine = Conversation.objects.for_owner(owner).not_deleted()
    candidates = mine.filter(temporary=True, app=app, memory_mode=memory_mode, use_past_chats=use_past_chats)
    matching = candidates.filter(**{f"metadata__{_HASH_KEY}": _hash_history(system_prompt, history)})
    with transaction.atomic():
        # Lock the conversation's row, not its app's.
        found = matching.select_for_update(of=("self",)).select_related("app", "owner").first()
        if found is not None:
            found.metadata = {_HASH_KEY: ""}
            found.save(update_fields=["metadata"])
            _discard_later(found.pk)
    return found


def await_next_request(conversation_id: Any) -> None:
    """Mark a temporary conversation with a hash of its messages, so that the client's next request finds it.

    It is deleted after `RESUME_WINDOW`. Does nothing for conversations that this module did not create.
    One transaction.
    """
    with transaction.atomic():
        found = Conversation.objects.select_for_update().filter(pk=conversation_id, temporary=True).first()
        if found is None or _HASH_KEY not in found.metadata:
            # Another module created it and deletes it.
            return
        shown = Message.objects.filter(conversation=found).current_branch().order_by("seq")
        history = [(Role(role), text) for role, text in shown.values_list("role", "content")]
        found.metadata = {_HASH_KEY: _hash_history(found.system_prompt, history)}
        found.save(update_fields=["metadata"])
        _discard_later(found.pk)


def _discard_later(conversation_id: Any) -> None:
    conversation_jobs.schedule_discard(conversation_id, timezone.now() + RESUME_WINDOW)


def _hash_history(system_prompt: str, history: History) -> str:
    # Clients often strip whitespace from what they received.
    said = json.dumps([system_prompt.strip(), *([role, text.strip()] for role, text in history)])
    return hashlib.sha256(said.encode()).hexdigest()
