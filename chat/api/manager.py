"""`MemoryManager`: sessions (seed 001) and topics (seed 002) for programs that want memory and no web.

Imports no model before a manager is made, so a plain script needs nothing but this import.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .patience import patiently
from .schema import Message
from .setup import owner_of, set_up

if TYPE_CHECKING:
    from .sessions import Sessions

STRATEGIES = ("hybrid", "summarization", "simple", "topics")


class MemoryManager:
    """One owner's conversations, the same ones that the page shows.

    Any id is a session: one that is unknown begins a session that this id means from then on, in every
    process; `save_message` returns the id that the session itself has, and `session_id` tells it without
    writing. Methods may be called from any thread, and by several processes on the same data, also while
    memoryapp runs; in an event loop call them through `asyncio.to_thread`. They raise DatabaseLocked when
    another program keeps the database to itself, and ValueError for a message that is too long, or for what
    JSON cannot hold. No model is loaded: memory reads new messages when memoryapp runs.
    """

    def __init__(
        self,
        storage_path: str | Path | None = None,
        *,
        owner: Any = None,
        enabled: bool = True,
        max_history_tokens: int = 4096,
        auto_prune_days: int | None = None,
        strategy: str = "",
    ) -> None:
        """Open the data in a folder (seed 001, "Configuration Schema"); by default memoryapp's own.

        `owner` is a user or a user's name, else this machine's one owner. A manager that is not `enabled`
        touches nothing and returns empty things. `strategy` is for the sessions that it begins, "" as their
        app has it. With `auto_prune_days` old sessions are deleted now; the seed's 30 is no default, since
        these are the conversations of a person too.
        """
        if strategy and strategy not in STRATEGIES:
            raise ValueError(f"strategy is one of {', '.join(STRATEGIES)}, not {strategy!r}.")
        self.enabled = enabled
        self.max_history_tokens = max_history_tokens
        self._sessions: Sessions | None = None
        if not enabled:
            return
        set_up(storage_path)
        # Models can be imported from here on.
        from .sessions import Sessions

        self._sessions = Sessions(patiently(lambda: owner_of(owner)), strategy)
        if auto_prune_days is not None:
            self.prune_old_sessions(auto_prune_days)

    @property
    def token_counter(self) -> str:
        """What counts tokens: the loaded model's name, or the rule of thumb where no model is loaded here."""
        if self._sessions is None:
            return ""
        from .counting import counter

        return counter().name

    def create_session(self, system_prompt: str = "", metadata: dict[str, Any] | None = None) -> str:
        """Begin a session and return its id; `metadata` is anything that JSON can hold."""
        if (sessions := self._sessions) is None:
            return ""
        return patiently(lambda: sessions.create(system_prompt, metadata or {}))

    def session_id(self, session_id: str) -> str:
        """Return the id of the session that an id of the caller's means; "" while there is none."""
        if (sessions := self._sessions) is None:
            return ""
        found = patiently(lambda: sessions.find(session_id))
        return str(found.pk) if found is not None else ""

    def load_session(self, session_id: str) -> list[Message]:
        """Return all that was said in a session, in time order; a damaged message is logged and left out."""
        if (sessions := self._sessions) is None:
            return []
        return patiently(lambda: sessions.load(session_id))

    def save_message(self, session_id: str, message: Message) -> str:
        """Add a message to a session and return that session's id.

        Memory reads what a user said, and it joins one of the session's topics or opens one.
        """
        if (sessions := self._sessions) is None:
            return ""
        row = patiently(lambda: sessions.save(session_id, message))
        # Apart, so that a lock met here does not save the message twice.
        patiently(lambda: sessions.place(row))
        return str(row.conversation_id)

    def get_recent_messages(self, session_id: str, max_tokens: int | None = None) -> list[Message]:
        """Return the newest messages within `max_tokens` (else `max_history_tokens`), in time order.

        Counted as `token_counter` says. A call of tools and its results go together. Nothing at all fits when
        the newest message alone is too long.
        """
        if (sessions := self._sessions) is None:
            return []
        limit = self.max_history_tokens if max_tokens is None else max_tokens
        return patiently(lambda: sessions.recent(session_id, limit))

    def list_sessions(self, limit: int = 10) -> list[dict[str, Any]]:
        """Return the sessions last written in, newest first: id, title, metadata, times, message count."""
        if (sessions := self._sessions) is None:
            return []
        return patiently(lambda: sessions.listed(limit))

    def delete_session(self, session_id: str) -> None:
        """Delete a session with all its messages, for good; what memory learned in it stays."""
        if (sessions := self._sessions) is not None:
            patiently(lambda: sessions.delete(session_id))

    def prune_old_sessions(self, days: int = 30) -> int:
        """Delete sessions that nobody wrote in for so many days, and return how many.

        Pinned ones stay, and those with a message that was flagged as important. Raises ValueError for less
        than a day.
        """
        if (sessions := self._sessions) is None:
            return 0
        return patiently(lambda: sessions.prune(days))

    def add_user_message(
        self, conversation_id: str, text: str, importance: float | None = None
    ) -> dict[str, Any]:
        """Save what a user said and return the figures of the topic that it is about, as `get_topic_stats`.

        With `importance` (0–1) that topic matters so much from now on: less retires sooner.
        """
        if importance is not None and not 0 <= importance <= 1:
            raise ValueError("Importance is a number from 0 to 1.")
        session = self.save_message(conversation_id, Message(role="user", content=text))
        if (sessions := self._sessions) is None:
            return {}
        from . import topics

        if importance is not None:
            patiently(lambda: topics.weigh(sessions.resolve(session), importance))
        return self.get_topic_stats(session)

    def add_assistant_message(self, conversation_id: str, text: str) -> str:
        """Save an answer in the topic of what it answers, and return the session's id."""
        return self.save_message(conversation_id, Message(role="assistant", content=text))

    def get_topic_context(self, conversation_id: str) -> list[dict[str, str]]:
        """Return the current topic for a prompt: its summary as a system message, its recent messages."""
        if (sessions := self._sessions) is None:
            return []
        from . import topics

        return patiently(lambda: topics.context(sessions.resolve(conversation_id)))

    def get_full_topic_history(
        self, conversation_id: str, include_compressed: bool = True
    ) -> list[dict[str, Any]]:
        """Return all that was said, in time order: role, content, timestamp (Unix seconds), topic_id.

        Without `include_compressed` what was packed away is left out; reading it unpacks nothing.
        """
        if (sessions := self._sessions) is None:
            return []
        from . import topics

        return patiently(lambda: topics.history(sessions.resolve(conversation_id), packed=include_compressed))

    def get_topic_stats(self, conversation_id: str) -> dict[str, Any]:
        """Return the seed's figures for the current topic, ages in seconds; empty before there is one."""
        if (sessions := self._sessions) is None:
            return {}
        from . import topics

        topic = patiently(lambda: topics.active(sessions.resolve(conversation_id)))
        return {} if topic is None else {**topics.stats(topic)}
