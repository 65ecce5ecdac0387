"""What a server has acknowledged to one user."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum


class State(StrEnum):
    """What the ledger expects of a fact, a chat or an app memory."""

    LIVE = "live"
    # Hidden; it is gone for good unless an undo comes in time.
    DELETED = "deleted"
    # Its undo was sent and not acknowledged, so it may be either.
    UNDOING = "undoing"


@dataclass(slots=True)
class KnownFact:
    """A fact; `text` is the last acknowledged one."""

    id: str
    text: str
    pinned: bool = False
    state: State = State.LIVE
    # Extracted from a message: an edit of the message takes it back.
    learned: bool = False


@dataclass(slots=True)
class KnownChat:
    """A chat and the user's messages that are shown in it, in order."""

    id: str
    shown: list[str] = field(default_factory=list)
    # Replaced by an edited message: stored, and not shown.
    replaced: list[str] = field(default_factory=list)
    last_message: str = ""
    last_reply: str = ""
    # All replies, replaced ones too.
    replies: int = 0
    pinned: bool = False
    flagged: set[str] = field(default_factory=set)
    ended: bool = False
    state: State = State.LIVE


@dataclass(slots=True)
class KnownAppMemory:
    """An app memory that was edited or deleted."""

    content: str
    state: State = State.LIVE


@dataclass(slots=True)
class Ledger:
    """What one user has been told is saved. Texts are unique, so each is found in the database."""

    owner: int
    chats: dict[str, KnownChat] = field(default_factory=dict)
    # By id.
    facts: dict[str, KnownFact] = field(default_factory=dict)
    app_memories: dict[str, KnownAppMemory] = field(default_factory=dict)
    imported: set[str] = field(default_factory=set)
    # Texts of facts that must not come back, because memory was cleared after the message that says them.
    cleared: set[str] = field(default_factory=set)
    # Texts of facts that the user may have restored, edited or pinned: an edit of their messages does not
    # take them back.
    confirmed: set[str] = field(default_factory=set)
    # Acknowledged acts by name, and answers that nobody expects.
    done: Counter[str] = field(default_factory=Counter)
    surprises: list[str] = field(default_factory=list)

    def live_facts(self) -> list[KnownFact]:
        """Return the facts that are neither deleted nor on the way back."""
        return [fact for fact in self.facts.values() if fact.state is State.LIVE]

    def live_chats(self) -> list[KnownChat]:
        """Return the chats that are neither deleted nor on the way back."""
        return [chat for chat in self.chats.values() if chat.state is State.LIVE]
