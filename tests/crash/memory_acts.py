"""What a user does with memory: tell, edit, pin, forget, undo, clear all, and the same with app memories.

Each act returns a step that can be repeated until it is acknowledged.
"""

from __future__ import annotations

import uuid

from .client import CrashClient, Step
from .ledger import KnownAppMemory, KnownFact, State
from .scripted_model import list_taught

# Facts of one user at a time: far from the limit at which memory archives some.
_MOST_FACTS = 40
_MOST_PINS = 8
_APP = "general"


def tell(client: CrashClient) -> Step:
    """Tell a fact."""
    if len(client.ledger.live_facts()) >= _MOST_FACTS:
        return forget(client)
    text, key = _word_fact(client), str(uuid.uuid4())

    def step() -> None:
        answer = client.ask("POST", "facts", {"text": text}, key=key, expect={200, 201})
        if answer.status_code in (200, 201):
            told = answer.json()
            client.ledger.facts[told["id"]] = KnownFact(told["id"], told["text"])

    return step


def edit_fact(client: CrashClient) -> Step:
    """Change the text of a fact."""
    fact = _choose(client)
    if fact is None:
        return tell(client)
    text = _word_fact(client)

    def step() -> None:
        client.ledger.confirmed |= {fact.text, text}
        if _patch(client, f"facts/{fact.id}", {"text": text}):
            fact.text = text

    return step


def pin_fact(client: CrashClient) -> Step:
    """Pin a fact, or take the pin away."""
    fact = _choose(client)
    if fact is None:
        return tell(client)
    # A pin of a deleted fact holds its place until it is gone.
    free = sum(one.pinned for one in client.ledger.facts.values()) < _MOST_PINS
    wanted = not fact.pinned and free

    def step() -> None:
        client.ledger.confirmed.add(fact.text)
        if _patch(client, f"facts/{fact.id}", {"pinned": wanted}):
            fact.pinned = wanted

    return step


def forget(client: CrashClient) -> Step:
    """Delete a fact."""
    return _forget(client, undone=False)


def forget_and_undo(client: CrashClient) -> Step:
    """Delete a fact and take it back."""
    return _forget(client, undone=True)


def _forget(client: CrashClient, *, undone: bool) -> Step:
    fact = _choose(client, learned=True)
    if fact is None:
        return tell(client)
    deletion = ""

    def step() -> None:
        nonlocal deletion
        # Once the request was sent, the fact may be deleted, also without an acknowledgement.
        fact.state = State.DELETED
        deletion = deletion or client.press("DELETE", f"facts/{fact.id}")
        if undone and deletion:
            fact.state = State.UNDOING
            client.ledger.confirmed.add(fact.text)
            fact.state = client.undo(deletion)

    return step


def clear_all(client: CrashClient) -> Step:
    """Forget everything."""
    return _clear_all(client, undone=False)


def clear_all_and_undo(client: CrashClient) -> Step:
    """Forget everything and take it back."""
    return _clear_all(client, undone=True)


def _clear_all(client: CrashClient, *, undone: bool) -> Step:
    ledger = client.ledger
    facts = ledger.live_facts()
    if _choose(client) is None:
        # Without a fact the server would return an earlier clear-all that can still be undone.
        return tell(client)
    said = [text for chat in ledger.chats.values() for text in (*chat.shown, *chat.replaced)]
    taught = {fact for text in said for fact in list_taught(text)} - ledger.cleared
    deletion = ""

    def mark(state: State) -> None:
        for fact in facts:
            fact.state = state

    def step() -> None:
        nonlocal deletion
        mark(State.DELETED)
        deletion = deletion or client.press("POST", "facts/clear")
        if deletion:
            ledger.cleared |= taught
        if undone and deletion:
            mark(State.UNDOING)
            ledger.cleared -= taught
            ledger.confirmed |= taught
            mark(state := client.undo(deletion))
            if state is State.DELETED:
                ledger.cleared |= taught

    return step


def look(client: CrashClient) -> Step:
    """Read the facts: all that are live are there; what memory has learned counts from now on."""

    def step() -> None:
        answer = client.ask("GET", "facts?limit=100", expect={200})
        if answer.status_code != 200:
            return
        told = {one["id"]: one for one in answer.json()["items"]}
        for fact in client.ledger.live_facts():
            if fact.id not in told and not fact.learned:
                client.ledger.surprises.append(f"fact is not shown: {fact.text}")
        for key, one in told.items():
            text = next(iter(list_taught(one["text"])), one["text"])
            client.ledger.facts.setdefault(key, KnownFact(key, text, learned=True))

    return step


def edit_app_memory(client: CrashClient) -> Step:
    """Change an app memory, if there is one."""
    text = f"The user keeps the {client.word()} in drawer {client.word()}."

    def step() -> None:
        for key in _list_app_memories(client)[:1]:
            if _patch(client, f"apps/{_APP}/memories/{key}", {"content": text}):
                client.ledger.app_memories[key] = KnownAppMemory(text)

    return step


def forget_app_memory(client: CrashClient) -> Step:
    """Delete an app memory, if there is one."""
    return _forget_app_memory(client, undone=False)


def forget_app_memory_and_undo(client: CrashClient) -> Step:
    """Delete an app memory, if there is one, and take it back."""
    return _forget_app_memory(client, undone=True)


def _forget_app_memory(client: CrashClient, *, undone: bool) -> Step:
    chosen = deletion = ""

    def step() -> None:
        nonlocal chosen, deletion
        known = client.ledger.app_memories
        chosen = chosen or next(iter(_list_app_memories(client)), "")
        if not chosen:
            return
        known.setdefault(chosen, KnownAppMemory("")).state = State.DELETED
        deletion = deletion or client.press("DELETE", f"apps/{_APP}/memories/{chosen}")
        if undone and deletion:
            known[chosen].state = State.UNDOING
            known[chosen].state = client.undo(deletion)

    return step


def _list_app_memories(client: CrashClient) -> list[str]:
    answer = client.ask("GET", f"apps/{_APP}/memories", expect={200})
    return [one["id"] for one in answer.json()["memories"]] if answer.status_code == 200 else []


def _patch(client: CrashClient, path: str, change: dict[str, object]) -> bool:
    """Change what was read now; returns whether it was changed, also by an earlier attempt."""
    read = client.ask("GET", path, expect={200})
    if read.status_code != 200:
        return False
    headers = {"If-Match": read.headers["etag"]}
    return bool(client.ask("PATCH", path, change, headers=headers, expect={200, 412}).status_code == 200)


def _word_fact(client: CrashClient) -> str:
    # Unlike what messages teach: memory would take a fact of similar words for the new value of this one.
    return f"User likes the song {client.word()} by the singer {client.word()}"


def _choose(client: CrashClient, *, learned: bool = False) -> KnownFact | None:
    live = [fact for fact in client.ledger.live_facts() if learned or not fact.learned]
    return client.chance.choice(live) if live else None
