"""The acts of a random session, with how often each is chosen."""

from __future__ import annotations

from collections.abc import Callable

from . import chat_acts, memory_acts
from .client import CrashClient, Step

ACTS: dict[str, tuple[Callable[[CrashClient], Step], int]] = {
    "say": (chat_acts.say, 6),
    "say more": (chat_acts.say_more, 6),
    "edit message": (chat_acts.edit_message, 3),
    "retry": (chat_acts.retry_reply, 3),
    "stop": (chat_acts.stop_reply, 2),
    "flag": (chat_acts.flag_message, 2),
    "pin chat": (chat_acts.pin_chat, 2),
    "end": (chat_acts.end_chat, 2),
    "delete chat": (chat_acts.delete_chat, 2),
    "delete chat, undo": (chat_acts.delete_chat_and_undo, 2),
    "import": (chat_acts.import_chats, 4),
    "tell": (memory_acts.tell, 10),
    "look": (memory_acts.look, 2),
    "edit fact": (memory_acts.edit_fact, 3),
    "pin fact": (memory_acts.pin_fact, 2),
    "forget": (memory_acts.forget, 3),
    "forget, undo": (memory_acts.forget_and_undo, 3),
    "clear all": (memory_acts.clear_all, 1),
    "clear all, undo": (memory_acts.clear_all_and_undo, 1),
    "edit app memory": (memory_acts.edit_app_memory, 1),
    "forget app memory": (memory_acts.forget_app_memory, 1),
    "forget app memory, undo": (memory_acts.forget_app_memory_and_undo, 1),
}


def act(client: CrashClient, preferred: str = "") -> None:
    """Do one random thing; half of the time what is preferred. Raises Interrupted."""
    name = preferred
    if not name or client.chance.random() < 0.5:
        [name] = client.chance.choices(list(ACTS), [weight for _, weight in ACTS.values()])
    client.begin(name, ACTS[name][0](client))
