"""Conversations whose replies are there at once, and that are remembered when they end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import app_memories, conversations
from chat.actions import messages as actions
from chat.jobs.runner import run_due
from chat.models import AppMemory, Conversation, Job


@pytest.fixture
def say(talk):
    """Returns a sender of messages that are answered at once."""

    def send(text: str, conversation: Conversation | None = None) -> Conversation:
        asked, reply = talk(text, conversation)
        actions.finish_reply(reply, "All right.", "complete")
        return Conversation.objects.get(pk=asked.conversation_id)

    return send


@pytest.fixture
def at_once(monkeypatch):
    """Nothing waits for its time."""
    monkeypatch.setattr(app_memories, "_AFTER_END", timedelta())


@pytest.fixture
def remember(say, scripted, at_once):
    """Returns a teller of conversations that end and are remembered."""

    def tell(text: str, note: str, chat: Conversation | None = None) -> Conversation:
        chat = say(text, chat)
        conversations.end(chat)
        Job.objects.filter(kind="extract").delete()
        scripted.app_memories.append(note)
        run_due({"app_memory"})
        chat.refresh_from_db()
        return chat

    return tell


@pytest.fixture
def full(owner, say):
    """Ten memories of ten conversations, the oldest the first."""
    app = say("Begin").app
    return [
        AppMemory.objects.create(
            owner=owner,
            app=app,
            content=f"The user asked about subject{n} word{n}.",
            updated_at=timezone.now() - timedelta(days=20 - n),
        )
        for n in range(10)
    ]
