"""Fixtures for conversations with complete replies and for app memories of ended conversations."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import app_memories, conversations
from chat.jobs.runner import run_due
from chat.models import AppMemory, Conversation, Job


@pytest.fixture
def immediate_app_memories(monkeypatch):
    """Make app memories due immediately when a conversation ends."""
    monkeypatch.setattr(app_memories, "_AFTER_END", timedelta())


@pytest.fixture
def write_app_memory(add_exchange, scripted, immediate_app_memories):
    """Return a function that adds a message, ends the conversation and runs its app memory job."""

    def end_with_memory(text: str, note: str, chat: Conversation | None = None) -> Conversation:
        chat = add_exchange(text, chat)
        conversations.end_conversation(chat)
        Job.objects.filter(kind="extract").delete()
        scripted.app_memories.append(note)
        run_due({"app_memory"})
        chat.refresh_from_db()
        return chat

    return end_with_memory


@pytest.fixture
def ten_memories(owner, add_exchange):
    """Ten app memories, the maximum of an app, oldest first."""
    app = add_exchange("Begin").app
    return [
        AppMemory.objects.create(
            owner=owner,
            app=app,
            content=f"The user asked about subject{n} word{n}.",
            updated_at=timezone.now() - timedelta(days=20 - n),
        )
        for n in range(10)
    ]
