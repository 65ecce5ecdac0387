"""Helpers that make and save messages of the Python API and read their texts."""

from __future__ import annotations

from chat.api import MemoryManager, Message


def make_messages(*texts: str) -> list[Message]:
    """Return messages of alternating roles, the user's first."""
    return [Message(role="user" if i % 2 == 0 else "assistant", content=t) for i, t in enumerate(texts)]


def save_messages(manager: MemoryManager, session: str, *messages: Message) -> None:
    """Save messages in a session, one after the other."""
    for message in messages:
        manager.save_message(session, message)


def contents_of(messages: list[Message]) -> list[str]:
    """Return the texts of messages."""
    return [message.content for message in messages]
