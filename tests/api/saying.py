"""What is said in a session, and what of it is read back."""

from __future__ import annotations

from chat.api import MemoryManager, Message


def said(*texts: str) -> list[Message]:
    return [Message(role="user" if i % 2 == 0 else "assistant", content=t) for i, t in enumerate(texts)]


def save(manager: MemoryManager, session: str, *messages: Message) -> None:
    for message in messages:
        manager.save_message(session, message)


def contents(messages: list[Message]) -> list[str]:
    return [message.content for message in messages]
