"""What a server has acknowledged, and the checks of a database against it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from tests.data_folder import query_database


class FactState(StrEnum):
    """What the ledger expects of a fact."""

    LIVE = "live"
    # Hidden; it is gone for good unless the undo comes in time.
    DELETED = "deleted"
    # Its undo was sent and not acknowledged.
    UNDOING = "undoing"


@dataclass(slots=True)
class Ledger:
    """What one user has been told is saved. Texts are unique, so each is found in the database."""

    owner: int
    messages: set[str] = field(default_factory=set)
    facts: dict[str, FactState] = field(default_factory=dict)
    # By text: the keys of acknowledged facts and the deletions of deleted ones.
    fact_keys: dict[str, str] = field(default_factory=dict)
    deletions: dict[str, str] = field(default_factory=dict)
    imported: set[str] = field(default_factory=set)


def find_faults(folder: Path, ledgers: list[Ledger], *, settled: bool) -> list[str]:
    """Return what the database has lost, doubled or brought back; `settled`: all deadlines have passed."""
    rows = lambda query: query_database(folder, query)  # noqa: E731
    faults = [f"the database is damaged: {row}" for row in rows("PRAGMA integrity_check") if row != ("ok",)]
    faults += [f"a row refers to nothing: {row}" for row in rows("PRAGMA foreign_key_check")]
    for ledger in ledgers:
        faults += _check_messages(ledger, rows) + _check_facts(ledger, rows, settled=settled)
    if settled:
        faults += _check_nothing_is_stuck(rows)
    return faults


def _check_messages(ledger: Ledger, rows: Any) -> list[str]:
    stored = [
        (text, imported, answered)
        for owner, text, imported, answered in rows(
            "SELECT c.owner_id, m.content, m.imported, EXISTS (SELECT 1 FROM chat_message r WHERE "
            "r.conversation_id = m.conversation_id AND r.seq = m.seq + 1) FROM chat_message m "
            "JOIN chat_conversation c ON c.id = m.conversation_id WHERE m.role = 'user'"
        )
        if owner == ledger.owner
    ]
    counts = Counter(text for text, _, _ in stored)
    faults = [f"lost message: {text}" for text in (ledger.messages | ledger.imported) - counts.keys()]
    faults += [f"message stored {count} times: {text}" for text, count in counts.items() if count > 1]
    return faults + [
        f"no row for the reply to: {t}" for t, old, answered in stored if not old and not answered
    ]


def _check_facts(ledger: Ledger, rows: Any, *, settled: bool) -> list[str]:
    stored = [
        (text, shown)
        for owner, text, shown in rows(
            "SELECT owner_id, text, deletion_id IS NULL AND archived_at IS NULL FROM chat_fact"
        )
        if owner == ledger.owner
    ]
    live = Counter(text for text, shown in stored if shown)
    faults = [f"fact stored {count} times: {text}" for text, count in live.items() if count > 1]
    for text, state in ledger.facts.items():
        if state is FactState.LIVE and text not in live:
            faults.append(f"lost fact: {text}")
        if state is FactState.DELETED and text in live:
            faults.append(f"deleted fact is back: {text}")
    if settled:
        kept = {text for text, _ in stored}
        gone = [text for text, state in ledger.facts.items() if state is FactState.DELETED]
        faults += [f"deleted fact is still stored: {text}" for text in gone if text in kept]
    return faults


def _check_nothing_is_stuck(rows: Any) -> list[str]:
    faults = []
    if waiting := rows("SELECT count(*) FROM chat_message WHERE state = 'streaming'")[0][0]:
        faults.append(f"{waiting} replies are still being written")
    if pending := rows("SELECT count(*) FROM chat_deletion WHERE state IN ('pending', 'staged')")[0][0]:
        faults.append(f"{pending} deletions have not ended")
    if failed := rows("SELECT kind, last_error FROM chat_job WHERE failed_at IS NOT NULL"):
        faults.append(f"jobs were given up: {failed}")
    return faults
