"""What a user does with chats: say, edit, retry, stop, flag, pin, end, delete, import.

Each act returns a step that can be repeated until it is acknowledged.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from .client import CrashClient, Step
from .ledger import KnownChat, State
from .scripted_model import state_fact

_BUSY = 409
# App memories of one user: below the limit, beyond which old ones make room.
_MOST_ENDED = 8


def say(client: CrashClient) -> Step:
    """Send a message in a new chat."""
    text, key, chat_key = _text(client), str(uuid.uuid4()), str(uuid.uuid4())

    def step() -> None:
        made = client.ask("POST", "conversations", {"title": "Crash"}, key=chat_key, expect={201})
        if made.status_code == 201:
            chat = client.ledger.chats.setdefault(made.json()["id"], KnownChat(made.json()["id"]))
            _send(client, chat, f"conversations/{chat.id}/messages?wait=0", text, key)

    return step


def say_more(client: CrashClient) -> Step:
    """Send a message in a chat that exists."""
    chat = _choose(client)
    if chat is None:
        return say(client)
    text, key = _text(client), str(uuid.uuid4())
    return lambda: _send(client, chat, f"conversations/{chat.id}/messages?wait=3", text, key)


def edit_message(client: CrashClient) -> Step:
    """Replace the last message of a chat by another wording."""
    chat = _choose(client)
    if chat is None or not chat.last_message:
        return say(client)
    text, key, last = _text(client), str(uuid.uuid4()), chat.last_message
    return lambda: _send(client, chat, f"messages/{last}/resend?wait=3", text, key, replaces=True)


def retry_reply(client: CrashClient) -> Step:
    """Ask for another reply."""
    chat = _choose(client)
    if chat is None or not chat.last_reply:
        return say(client)
    key, last = str(uuid.uuid4()), chat.last_reply

    def step() -> None:
        answer = client.ask("POST", f"messages/{last}/retry?wait=1", key=key, expect={201, 202, _BUSY})
        if answer.status_code in (201, 202):
            chat.last_reply = answer.json()["reply"]["id"]
            chat.replies += 1

    return step


def stop_reply(client: CrashClient) -> Step:
    """Stop the last reply, which may have ended."""
    chat = _choose(client)
    if chat is None or not chat.last_reply:
        return say(client)
    last = chat.last_reply

    def step() -> None:
        client.ask("POST", f"messages/{last}/stop", expect={200})

    return step


def flag_message(client: CrashClient) -> Step:
    """Mark a message as important."""
    chat = _choose(client)
    if chat is None or not chat.last_message:
        return say(client)
    last, text = chat.last_message, chat.shown[-1]

    def step() -> None:
        answer = client.ask("PATCH", f"messages/{last}", {"flagged": True}, expect={200})
        if answer.status_code == 200:
            chat.flagged.add(text)

    return step


def pin_chat(client: CrashClient) -> Step:
    """Pin a chat, or take the pin away."""
    chat = _choose(client)
    if chat is None:
        return say(client)
    wanted = not chat.pinned

    def step() -> None:
        answer = client.ask("PATCH", f"conversations/{chat.id}", {"pinned": wanted}, expect={200})
        if answer.status_code == 200:
            chat.pinned = wanted

    return step


def end_chat(client: CrashClient) -> Step:
    """End a chat, of which an app memory is written then."""
    chat = _choose(client)
    if chat is None or sum(one.ended for one in client.ledger.chats.values()) >= _MOST_ENDED:
        return pin_chat(client)

    def step() -> None:
        chat.ended = True
        client.ask("POST", f"conversations/{chat.id}/end", expect={200})

    return step


def delete_chat(client: CrashClient) -> Step:
    """Delete a chat."""
    return _delete_chat(client, undone=False)


def delete_chat_and_undo(client: CrashClient) -> Step:
    """Delete a chat, and undo the deletion."""
    return _delete_chat(client, undone=True)


def _delete_chat(client: CrashClient, *, undone: bool) -> Step:
    chat = _choose(client)
    if chat is None:
        return say(client)
    deletion = ""

    def step() -> None:
        nonlocal deletion
        # Once the request was sent, the chat may be deleted, also without an acknowledgement.
        chat.state = State.DELETED
        deletion = deletion or client.press("DELETE", f"conversations/{chat.id}")
        if undone and deletion:
            chat.state = State.UNDOING
            chat.state = client.undo(deletion)

    return step


def import_chats(client: CrashClient) -> Step:
    """Import chats of another program."""
    texts = [f"Imported {client.word()}" for _ in range(client.chance.choice((1, 1, 3, 40)))]
    content = json.dumps([_build_chat(client.word(), text) for text in texts]).encode()

    def step() -> None:
        file = {"file": ("claude.json", content, "application/json")}
        answer = client.ask("POST", "import", files=file, expect={200})
        if answer.status_code == 200:
            client.ledger.imported.update(texts)

    return step


def _build_chat(key: str, text: str) -> dict[str, Any]:
    at = "2026-01-01T10:00:00Z"
    rows = [
        {"uuid": f"{key}-1", "sender": "human", "text": text, "created_at": at},
        {"uuid": f"{key}-2", "sender": "assistant", "text": "Yes.", "created_at": at},
    ]
    return {"uuid": key, "name": "Old", "created_at": at, "chat_messages": rows}


def _text(client: CrashClient) -> str:
    if client.chance.random() < 0.5:
        return state_fact((client.word(), client.word()))
    return f"What do you think of {client.word()} for the old desk that I keep in the hall?"


def _choose(client: CrashClient) -> KnownChat | None:
    live = client.ledger.live_chats()
    return client.chance.choice(live) if live else None


def _send(
    client: CrashClient, chat: KnownChat, path: str, text: str, key: str, *, replaces: bool = False
) -> None:
    answer = client.ask("POST", path, {"content": text}, key=key, expect={201, 202, _BUSY})
    if answer.status_code not in (201, 202):
        return
    if replaces:
        chat.replaced.append(chat.shown.pop())
    chat.shown.append(text)
    told = answer.json()
    chat.last_message, chat.last_reply = told["message"]["id"], told["reply"]["id"]
    chat.replies += 1
