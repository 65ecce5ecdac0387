"""`MemoryManager`: sessions and topics for Python programs, without a web server.

Its calls are repeated while another process holds the lock of the SQLite database. Models are imported when a
manager is created, so a script can import this module before Django is set up.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import OperationalError, connection

from chat.topics.rules import DEFAULT_RULES, TopicRules

from .schema import SessionMessage
from .setup import find_owner, set_up_django

if TYPE_CHECKING:
    from chat.models import User

    from .sessions import Sessions

STRATEGIES = ("hybrid", "summarization", "simple", "topics")


class MemoryManager:
    """One owner's conversations, the same ones that the page shows.

    Any text is a valid session id: an unknown one creates a session, which the id names from then on in every
    process. `save_message` returns the session's own id; `session_id` returns it without writing. Methods may
    be called from any thread and from several processes on the same data, also while memoryapp runs; in an
    event loop call them through `asyncio.to_thread`. They raise DatabaseLocked when another process keeps the
    database locked, and ValueError for a message that is too long or a value that JSON cannot represent. No
    model is loaded: facts are extracted from new messages, and packed messages summarised, when memoryapp
    runs.
    """

    def __init__(
        self,
        storage_path: str | Path | None = None,
        *,
        owner: User | str | None = None,
        enabled: bool = True,
        max_history_tokens: int = 4096,
        auto_prune_days: int | None = None,
        strategy: str = "",
        max_topics: int = DEFAULT_RULES.max_topics,
        similarity_threshold: float | None = DEFAULT_RULES.similarity_threshold,
        base_half_life_seconds: float = DEFAULT_RULES.base_half_life_seconds,
        max_half_life_seconds: float = DEFAULT_RULES.max_half_life_seconds,
        access_threshold_for_lt: int = DEFAULT_RULES.access_threshold_for_lt,
        max_messages_per_topic: int = DEFAULT_RULES.max_messages_per_topic,
        recent_message_keep: int = DEFAULT_RULES.recent_message_keep,
    ) -> None:
        """Open the data in a folder, by default memoryapp's own.

        `owner` is a user or a user name, else the owner of a local installation. A manager that is not
        `enabled` reads and writes nothing and returns empty values. `strategy` is for sessions that it
        creates, "" for their app's. With `auto_prune_days` old sessions are deleted now; there is no default,
        since the page shows the same conversations. The other arguments are the rules of topics for the calls
        of this manager, see `chat.topics.rules.TopicRules`. Raises ValueError for invalid values, before
        anything is opened.
        """
        if strategy and strategy not in STRATEGIES:
            raise ValueError(f"strategy is one of {', '.join(STRATEGIES)}, not {strategy!r}.")
        rules = TopicRules(
            max_topics=max_topics,
            similarity_threshold=similarity_threshold,
            base_half_life_seconds=base_half_life_seconds,
            max_half_life_seconds=max_half_life_seconds,
            access_threshold_for_lt=access_threshold_for_lt,
            max_messages_per_topic=max_messages_per_topic,
            recent_message_keep=recent_message_keep,
        )
        self.enabled = enabled
        self.max_history_tokens = max_history_tokens
        self._sessions: Sessions | None = None
        if not enabled:
            return
        set_up_django(storage_path)
        # Models can be imported after `set_up_django`.
        from .sessions import Sessions

        self._sessions = Sessions(retry_while_locked(lambda: find_owner(owner)), strategy, rules)
        if auto_prune_days is not None:
            self.prune_old_sessions(auto_prune_days)

    @property
    def token_counter(self) -> str:
        """Return what counts tokens: the name of the loaded model, or the estimate where none is loaded."""
        if self._sessions is None:
            return ""
        from .history import select_counter

        return select_counter().name

    def create_session(self, system_prompt: str = "", metadata: dict[str, Any] | None = None) -> str:
        """Create a session and return its id; `metadata` is a dict that JSON can represent."""
        if (sessions := self._sessions) is None:
            return ""
        return retry_while_locked(lambda: sessions.create(system_prompt, metadata or {}))

    def session_id(self, session_id: str) -> str:
        """Return the session's own id for an id of the caller; "" where there is no such session."""
        if (sessions := self._sessions) is None:
            return ""
        found = retry_while_locked(lambda: sessions.find(session_id))
        return str(found.pk) if found is not None else ""

    def load_session(self, session_id: str) -> list[SessionMessage]:
        """Return all messages of a session in time order; a damaged one is logged and left out."""
        if (sessions := self._sessions) is None:
            return []
        return retry_while_locked(lambda: sessions.load(session_id))

    def save_message(self, session_id: str, message: SessionMessage) -> str:
        """Add a message to a session and return the session's own id.

        A user's message is assigned to a topic of the session, and facts are extracted from it later. A topic
        with more than `max_messages_per_topic` messages that are not packed is packed, except the newest
        `recent_message_keep`; in a session that also has replies on the page, only after it was compacted.
        """
        if (sessions := self._sessions) is None:
            return ""
        row = retry_while_locked(lambda: sessions.save(session_id, message))
        # Calls of their own, so that a retry after a lock does not save the message twice.
        retry_while_locked(lambda: sessions.assign_topic(row))
        retry_while_locked(lambda: sessions.pack(row))
        return str(row.conversation_id)

    def get_recent_messages(self, session_id: str, max_tokens: int | None = None) -> list[SessionMessage]:
        """Return the newest messages within `max_tokens` (else `max_history_tokens`), in time order.

        What does not fit is left out as the session's strategy says. With `simple` these are just the newest
        messages. With `summarization` (at most 20 messages) and `hybrid` (which also keeps system messages
        and important ones) a system message "Previous context: …" comes first, a summary of what is left out;
        with `topics`, which keeps the current topic, it names the other topics. The summary is written by the
        model that this process has loaded, and the call blocks meanwhile; without one it is the summary that
        memoryapp wrote, and where there is none the message is left out.

        `token_counter` names what counts. A tool call and its results are kept together. The list is empty
        where the newest message alone is too long. Reads only as many messages as fit.
        """
        if (sessions := self._sessions) is None:
            return []
        limit = self.max_history_tokens if max_tokens is None else max_tokens
        return retry_while_locked(lambda: sessions.load_recent(session_id, limit))

    def list_sessions(self, limit: int = 10) -> list[dict[str, Any]]:
        """Return the last changed sessions, newest first: id, title, metadata, times, message count."""
        if (sessions := self._sessions) is None:
            return []
        return retry_while_locked(lambda: sessions.list_recent(limit))

    def delete_session(self, session_id: str) -> None:
        """Delete a session and its messages permanently; facts learned from it stay."""
        if (sessions := self._sessions) is not None:
            retry_while_locked(lambda: sessions.delete(session_id))

    def prune_old_sessions(self, days: int = 30) -> int:
        """Delete sessions without a change for so many days, and return their number.

        Pinned sessions and those with a flagged message stay. Raises ValueError for less than one day.
        """
        if (sessions := self._sessions) is None:
            return 0
        return retry_while_locked(lambda: sessions.prune(days))

    def add_user_message(
        self, conversation_id: str, text: str, importance: float | None = None
    ) -> dict[str, Any]:
        """Save a user's message and return the statistics of its topic, as `get_topic_stats` does.

        `importance` (0–1) sets the importance of that topic; topics of lower importance retire sooner.
        """
        if importance is not None and not 0 <= importance <= 1:
            raise ValueError("Importance is a number from 0 to 1.")
        session = self.save_message(conversation_id, SessionMessage(role="user", content=text))
        if (sessions := self._sessions) is None:
            return {}
        if importance is not None:
            retry_while_locked(lambda: sessions.set_topic_importance(session, importance))
        return self.get_topic_stats(session)

    def add_assistant_message(self, conversation_id: str, text: str) -> str:
        """Save a reply in the topic of the message that it answers, and return the session's own id."""
        return self.save_message(conversation_id, SessionMessage(role="assistant", content=text))

    def get_topic_context(self, conversation_id: str) -> list[dict[str, str]]:
        """Return the active topic for a prompt: its summary as a system message, then its recent messages.

        Packed messages that no summary covers yet are included; a topic that came back has all its messages.
        """
        if (sessions := self._sessions) is None:
            return []
        return retry_while_locked(lambda: sessions.topic_context(conversation_id))

    def get_full_topic_history(
        self, conversation_id: str, include_compressed: bool = True
    ) -> list[dict[str, Any]]:
        """Return all messages in time order: role, content, timestamp (Unix seconds), topic_id.

        Without `include_compressed`, packed messages are left out. Reading them does not unpack them.
        """
        if (sessions := self._sessions) is None:
            return []
        return retry_while_locked(lambda: sessions.topic_history(conversation_id, packed=include_compressed))

    def get_topic_stats(self, conversation_id: str) -> dict[str, Any]:
        """Return the statistics of the active topic, ages in seconds; empty before there is one."""
        if (sessions := self._sessions) is None:
            return {}
        return retry_while_locked(lambda: sessions.topic_stats(conversation_id))


T = TypeVar("T")

# On top of the 20 s that SQLite waits itself: it refuses some locks at once, whatever its busy timeout.
PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.4)


class DatabaseLocked(Exception):
    """Another process held the database for too long. Nothing was changed; the call can be repeated."""


def retry_while_locked(call: Callable[[], T]) -> T:
    """Return the result of a call, repeated after growing, jittered pauses while the database is locked.

    The call must open its transactions itself: they are rolled back before it is repeated. Raises
    DatabaseLocked after the last pause.
    """
    for pause in (*PAUSES_SECONDS, None):
        try:
            return call()
        except OperationalError as error:
            # In a caller's transaction nothing was rolled back, so a repetition could apply a change twice.
            if "locked" not in str(error) or connection.in_atomic_block:
                raise
            if pause is None:
                raise DatabaseLocked("Another program has kept the database locked.") from error
            time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - only spreads two programs apart
    raise AssertionError("unreachable")
