"""Checks of a database against what the server has acknowledged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from .database import Database
from .ledger import Ledger, State
from .scripted_model import list_taught

Rows = Callable[[str], list[Any]]

_CHATS = "SELECT id, owner_id, pinned, deletion_id IS NULL FROM chat_conversation"
_MESSAGES = (
    "SELECT m.conversation_id, m.role, m.content, m.replaced_by_id IS NULL, m.flagged, d.state "
    "FROM chat_message m JOIN chat_conversation c ON c.id = m.conversation_id "
    "LEFT JOIN chat_deletion d ON d.id = c.deletion_id WHERE c.owner_id = {owner} ORDER BY m.seq"
)
_FACTS = (
    "SELECT id, text, pinned, CASE WHEN deletion_id IS NOT NULL THEN 'deleted' "
    "WHEN archived_at IS NOT NULL THEN 'archived' WHEN superseded_at IS NOT NULL THEN 'superseded' "
    "ELSE 'live' END FROM chat_fact WHERE owner_id = {owner}"
)
_APP_MEMORIES = (
    "SELECT id, content, deletion_id IS NULL, source_conversation_id "
    "FROM chat_appmemory WHERE owner_id = {owner}"
)


def find_faults(database: Database, ledgers: Sequence[Ledger], *, settled: bool) -> list[str]:
    """Return what the database has lost, doubled or brought back; `settled`: all deadlines have passed."""
    rows = database.rows
    faults = database.find_damage()
    for ledger in ledgers:
        faults += ledger.surprises
        ledger.surprises = []
        faults += _check_chats(ledger, rows, settled=settled) + _check_imports(ledger, rows)
        faults += _check_facts(ledger, rows, settled=settled) + _check_app_memories(ledger, rows)
    if settled:
        faults += _check_nothing_is_stuck(rows)
    return faults + _check_extractions(rows)


def _check_chats(ledger: Ledger, rows: Rows, *, settled: bool) -> list[str]:
    """Compare the chats with the ledger: which exist, and the messages and replies of each."""
    stored = {key: (pinned, shown) for key, owner, pinned, shown in rows(_CHATS) if owner == ledger.owner}
    said: dict[str, list[tuple[str, bool, bool]]] = defaultdict(list)
    replies: Counter[str] = Counter()
    for chat_key, role, text, shown, flagged, _state in rows(_MESSAGES.format(owner=ledger.owner)):
        if role == "user":
            said[chat_key].append((text, bool(shown), bool(flagged)))
        else:
            replies[chat_key] += 1
    faults = []
    for chat in ledger.chats.values():
        key = UUID(chat.id).hex
        pinned, is_live = stored.get(key, (False, False))
        if chat.state is State.DELETED:
            faults += [f"deleted chat is back: {chat.id}"] if is_live else []
            if settled and key in stored:
                faults.append(f"deleted chat is still stored: {chat.id}")
            continue
        if not is_live:
            faults.append(f"lost chat: {chat.id} with {chat.shown}")
            continue
        if chat.pinned != bool(pinned):
            faults.append(f"the pin of a chat is wrong: {chat.id}")
        shown = [text for text, is_shown, _ in said[key] if is_shown]
        if shown != chat.shown:
            faults.append(f"chat {chat.id} shows {shown} and not {chat.shown}")
        hidden = [text for text, is_shown, _ in said[key] if not is_shown]
        if sorted(hidden) != sorted(chat.replaced):
            faults.append(f"chat {chat.id} has replaced {hidden} and not {chat.replaced}")
        if replies[key] != chat.replies:
            faults.append(f"chat {chat.id} has {replies[key]} replies and not {chat.replies}")
        # A new wording keeps the flag of the old one.
        if lost := chat.flagged - {text for text, _, is_flagged in said[key] if is_flagged}:
            faults.append(f"lost flags: {lost}")
    return faults


def _check_imports(ledger: Ledger, rows: Rows) -> list[str]:
    """Check that each imported message is there once, and no other; what a killed import left is hidden."""
    found = rows(_MESSAGES.format(owner=ledger.owner))
    texts = Counter(
        row[2] for row in found if row[1] == "user" and row[2].startswith("Imported ") and row[5] != "staged"
    )
    faults = [f"lost import: {text}" for text in ledger.imported - texts.keys()]
    return faults + [f"imported {count} times: {text}" for text, count in texts.items() if count > 1]


def _check_facts(ledger: Ledger, rows: Rows, *, settled: bool) -> list[str]:
    stored = [
        # Memory keeps the user's own words of some sentences.
        (key, next(iter(list_taught(text)), text), pinned, state)
        for key, text, pinned, state in rows(_FACTS.format(owner=ledger.owner))
    ]
    live = Counter(text for _, text, _, state in stored if state == "live")
    pins = {key: bool(pinned) for key, _, pinned, _ in stored}
    kept = {text: state for _, text, _, state in stored}
    faults = [f"fact stored {count} times: {text}" for text, count in live.items() if count > 1]
    for fact in ledger.facts.values():
        if fact.state is State.DELETED:
            faults += [f"deleted fact is back: {fact.text}"] if fact.text in live else []
            if settled and fact.text in kept:
                faults.append(f"deleted fact is still stored: {fact.text}")
        elif fact.learned:
            # It may have been taken back since, with the message that taught it.
            continue
        elif fact.text not in live:
            faults.append(f"lost fact ({kept.get(fact.text, 'not stored')}): {fact.text}")
        elif pins[UUID(fact.id).hex] != fact.pinned:
            faults.append(f"the pin of a fact is wrong: {fact.text}")
    known = {fact.text for fact in ledger.facts.values() if not fact.learned}
    taught = {
        fact
        for chat in ledger.chats.values()
        for text in (*chat.shown, *chat.replaced)
        # Memory may store the message itself, in quotation marks, as a fact.
        for fact in (*list_taught(text), f"“{text}”")
    }
    faults += [f"a fact that nobody told: {text}" for text in live.keys() - known - taught]
    faults += [f"memory was cleared, and this is back: {text}" for text in live.keys() & ledger.cleared]
    retracted = {
        fact for chat in ledger.chats.values() for text in chat.replaced for fact in list_taught(text)
    }
    retracted -= ledger.confirmed
    return faults + [f"its message was edited, and this is back: {text}" for text in live.keys() & retracted]


def _check_app_memories(ledger: Ledger, rows: Rows) -> list[str]:
    stored = rows(_APP_MEMORIES.format(owner=ledger.owner))
    live = {key: content for key, content, shown, _ in stored if shown}
    faults = []
    for key, known in ledger.app_memories.items():
        content = live.get(UUID(key).hex)
        if known.state is State.DELETED and content is not None:
            faults.append(f"deleted app memory is back: {content}")
        if known.state is State.LIVE and content is None:
            faults.append(f"lost app memory: {known.content}")
        if known.state is State.LIVE and known.content not in ("", content):
            faults.append(f"lost edit of an app memory: {known.content}")
    sources = Counter(source for _, _, _, source in stored if source is not None)
    return faults + [f"{count} app memories of chat {key}" for key, count in sources.items() if count > 1]


def _check_extractions(rows: Rows) -> list[str]:
    doubled = rows("SELECT message_id FROM chat_extractionrun GROUP BY message_id HAVING count(*) > 1")
    return [f"a message was extracted twice: {key}" for (key,) in doubled]


def _check_nothing_is_stuck(rows: Rows) -> list[str]:
    faults = []
    if waiting := rows("SELECT count(*) FROM chat_message WHERE state = 'streaming'")[0][0]:
        faults.append(f"{waiting} replies are still being written")
    # What an edited message has taken back can be undone for a day.
    open_ones = "SELECT state FROM chat_deletion WHERE state IN ('pending', 'staged') AND retraction IS NULL"
    if pending := rows(open_ones):
        faults.append(f"{len(pending)} deletions have not ended: {sorted(pending)}")
    if failed := rows("SELECT kind, last_error FROM chat_job WHERE failed_at IS NOT NULL"):
        faults.append(f"jobs were given up: {failed}")
    if unread := rows("SELECT run_after FROM chat_job WHERE kind = 'extract'"):
        faults.append(f"extractions have not ended: {unread}")
    return faults
