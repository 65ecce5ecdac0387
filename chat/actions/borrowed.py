"""Conversations of other programs, which send all that was said with each request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from chat.models import App, Conversation, MemoryMode, Message, Role

from . import conversations, messages

# So long a temporary conversation waits for its program's next request, which then continues what the model
# has read already.
WAITS = timedelta(minutes=10)
_MARK = "history"

History = Sequence[tuple[Role, str]]


def begin(
    owner: Any, app: App, history: History, *, title: str = "", system_prompt: str, memory_mode: str
) -> Conversation:
    """Begin a conversation in which this was said already; memory reads of it what the user said.

    Without a title it is a temporary one, which learns nothing, whatever its `memory_mode`, and is gone soon.
    One transaction. Raises Refused where a message is too long.
    """
    messages.not_put_away(app)
    history = [(role, messages.keepable(text)) for role, text in history]
    with transaction.atomic():
        temporary = not title
        learns = memory_mode == MemoryMode.ON and not temporary
        made = Conversation.objects.create(
            owner=owner,
            app=app,
            title=title,
            system_prompt=system_prompt,
            temporary=temporary,
            memory_mode=memory_mode,
            metadata={_MARK: ""} if temporary else {},
            extracted_through=0 if learns else len(history),
        )
        now = timezone.now()
        Message.objects.bulk_create(
            Message(
                conversation=made,
                seq=seq,
                role=role,
                content=text,
                created_at=now + timedelta(microseconds=seq),
            )
            for seq, (role, text) in enumerate(history, 1)
        )
        if temporary:
            _discard_later(made.pk)
    return made


def continued(
    owner: Any, app: App, memory_mode: str, system_prompt: str, history: History
) -> Conversation | None:
    """Return the temporary conversation that a program goes on with, None where none waits for it.

    Its mark is taken off, so that no second request goes on with it too. One transaction.
    """
    if not history:
        return None
    mine = Conversation.objects.for_owner(owner).kept()
    waiting = mine.filter(temporary=True, app=app, memory_mode=memory_mode)
    marked = waiting.filter(**{f"metadata__{_MARK}": _mark(system_prompt, history)})
    with transaction.atomic():
        # A lock of the row, and none of its app's.
        found = marked.select_for_update(of=("self",)).select_related("app", "owner").first()
        if found is not None:
            found.metadata = {_MARK: ""}
            found.save(update_fields=["metadata"])
            _discard_later(found.pk)
    return found


def await_more(conversation_id: Any) -> None:
    """Let a temporary conversation wait for its program's next request, marked with what was said in it.

    It is gone after that. One transaction.
    """
    with transaction.atomic():
        found = Conversation.objects.select_for_update().filter(pk=conversation_id, temporary=True).first()
        if found is None or _MARK not in found.metadata:
            # Somebody else began it, who sees to its end.
            return
        shown = Message.objects.filter(conversation=found).shown().order_by("seq")
        history = [(Role(role), text) for role, text in shown.values_list("role", "content")]
        found.metadata = {_MARK: _mark(found.system_prompt, history)}
        found.save(update_fields=["metadata"])
        _discard_later(found.pk)


def _discard_later(conversation_id: Any) -> None:
    conversations.discard_at(conversation_id, timezone.now() + WAITS)


def _mark(system_prompt: str, history: History) -> str:
    # Programs trim what they got.
    said = json.dumps([system_prompt.strip(), *([role, text.strip()] for role, text in history)])
    return hashlib.sha256(said.encode()).hexdigest()
