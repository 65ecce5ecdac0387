"""The replies that other processes write, as this one shows them.

One thread reads them from Redis into a mirror for each conversation that is watched here. Where Redis has no
news of a reply, the database says whether it has ended.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import DatabaseError, close_old_connections

from chat.models import Message, MessageState
from chat.models.connections import release_connection
from memoryapp.base import redis
from memoryapp.base.message_bus import MessageBus, bus

from . import reply_store
from .hub import Frame, Hub, LiveReply, Watcher
from .reply_store import Mirror

logger = logging.getLogger(__name__)

# How long the reading thread waits for frames before it looks for conversations that were opened meanwhile.
_READ_MS = 50
# After so many seconds without news the database is asked whether the reply has ended.
QUIET_SECONDS = 1.0
_RETRY_SECONDS = 0.5
# Messages to other processes: a reply begins or has ended in this conversation.
BEGAN, ENDED = "reply-began", "reply-ended"


class MirroringHub(Hub):
    """A hub that shows replies of other processes beside those of this one; callable from any thread."""

    is_shared = True

    def __init__(self, messages: MessageBus = bus, url: str = "") -> None:
        """`url` is for tests; by default that of REDIS_URL."""
        super().__init__()
        self._bus, self._url = messages, url
        self._availability = redis.Availability(
            "replies that other servers write are shown by their saved text"
        )
        self._mirrors: dict[str, Mirror] = {}
        self._unread: set[str] = set()
        # Where another process began a reply before this one had ended its own.
        self._begun_meanwhile: set[str] = set()
        self._news = threading.Event()
        self._reader: threading.Thread | None = None
        self._is_closed = False

    def watch(self, conversation: str, watcher: Watcher) -> None:
        """Subscribe to a conversation; a reply that is being written is sent as a snapshot first."""
        super().watch(conversation, watcher)
        with self._lock:
            if conversation not in self._live and conversation not in self._mirrors:
                self._read_soon(conversation)

    def expect(self, conversation: str, reply: str) -> None:
        """Show a reply of another process, of which the database says that it is being written, and its end.

        The word that it begins is lost where Redis is away.
        """
        with self._lock:
            if conversation not in self._watchers or conversation in self._live:
                return
            if conversation not in self._mirrors:
                self._mirrors[conversation] = _make_empty(reply, conversation)
            self._read_soon(conversation)

    def unwatch(self, conversation: str, watcher: Watcher) -> None:
        """End a subscription."""
        super().unwatch(conversation, watcher)
        with self._lock:
            if conversation not in self._watchers:
                self._mirrors.pop(conversation, None)
                self._unread.discard(conversation)
                self._begun_meanwhile.discard(conversation)

    def snapshot(self, conversation: str) -> Frame | None:
        """Return a snapshot of the reply that is being written in a conversation, None without one.

        Where nobody watches it here, this asks Redis: not for an event loop.
        """
        if (found := super().snapshot(conversation)) is not None or self.is_watched(conversation):
            return found
        mirror = self._availability.ask(lambda: self._load(conversation), lambda: None)
        return mirror.snapshot() if mirror else None

    def clear(self) -> None:
        """Drop everything, as the base class does."""
        super().clear()
        with self._lock:
            self._mirrors.clear()
            self._unread.clear()
            self._begun_meanwhile.clear()

    def close(self) -> None:
        """End the reading thread; for tests."""
        self._is_closed = True
        self._news.set()
        if self._reader is not None:
            self._reader.join(5)

    def _find(self, conversation: str) -> LiveReply | None:
        mirror = self._mirrors.get(conversation)
        return self._live.get(conversation) or (mirror if mirror and not mirror.is_empty else None)

    def _read_soon(self, conversation: str) -> None:
        self._unread.add(conversation)
        self._news.set()
        if self._reader is None and not self._is_closed:
            self._reader = threading.Thread(target=self._read_all, name="reply-reading", daemon=True)
            self._reader.start()
            self._bus.listen(BEGAN, self._note_begin)
            self._bus.listen(ENDED, self._note_end)

    def _note_begin(self, message: dict[str, Any]) -> None:
        conversation = message["conversation"]
        with self._lock:
            if conversation not in self._watchers:
                return
            if conversation in self._live:
                self._begun_meanwhile.add(conversation)
            else:
                self._read_soon(conversation)

    def _note_end(self, message: dict[str, Any]) -> None:
        """Pass on the end of a reply that was over before it could be read; otherwise its frames say so."""
        conversation, reply = message["conversation"], message["reply"]
        with self._lock:
            mirror = self._mirrors.get(conversation)
            if mirror is not None and mirror.is_empty and mirror.reply == reply:
                mirror = self._mirrors.pop(conversation, None)
            if mirror is None or mirror.is_empty:
                Hub._send(self, conversation, {"type": "done", "reply": reply})

    def _read_all(self) -> None:
        with redis.connect(self._url) as client:
            while not self._is_closed:
                try:
                    self._read_once(client)
                    self._end_quiet()
                except Exception:  # the thread must go on for the other pages
                    logger.exception("replies of other processes could not be read")
                    time.sleep(_RETRY_SECONDS)
                self._wait()

    def _read_once(self, client: Any) -> None:
        if not self._availability.may_try():
            return
        try:
            self._read_new(client)
            self._read_frames(client)
            self._availability.note_success()
        except redis.list_errors() as error:
            self._availability.note_failure(error)
            with self._lock:
                self._unread |= {key for key in self._watchers if key not in self._live}

    def _wait(self) -> None:
        """Wait until a conversation is opened; where something is to be asked again, not for long."""
        with self._lock:
            reads = any(not mirror.is_empty for mirror in self._mirrors.values())
            waits = bool(self._mirrors or self._unread)
        if self._availability.is_down or (waits and not reads):
            self._news.wait(_RETRY_SECONDS / 2)
        elif not reads:
            self._news.wait()
        self._news.clear()

    def _load(self, conversation: str) -> Mirror | None:
        with redis.connect(self._url) as client:
            return reply_store.load(client, conversation)

    def _read_new(self, client: Any) -> None:
        with self._lock:
            unread, self._unread = self._unread, set()
        missing = []
        for conversation in unread:
            mirror = reply_store.load(client, conversation)
            if mirror is None:
                missing.append(conversation)
                continue
            with self._lock:
                if conversation in self._watchers and conversation not in self._live:
                    self._show(mirror)
        self._find_in_database(missing)

    def _show(self, mirror: Mirror) -> None:
        """Show a reply of another process as a snapshot; the lock is held."""
        mirror.heard_monotonic = time.monotonic()
        self._mirrors[mirror.conversation] = mirror
        Hub._send(self, mirror.conversation, mirror.snapshot())

    def _read_frames(self, client: Any) -> None:
        with self._lock:
            positions = {key: mirror.position for key, mirror in self._mirrors.items() if not mirror.is_empty}
        if not positions:
            return
        for conversation, position, frame in reply_store.read_frames(client, positions, _READ_MS):
            with self._lock:
                if (mirror := self._mirrors.get(conversation)) is not None:
                    mirror.position, mirror.heard_monotonic = position, time.monotonic()
                    self._pass_on(mirror, frame)

    def _pass_on(self, mirror: Mirror, frame: Frame) -> None:
        """Apply a frame of another process to its mirror, and send it to the sockets; the lock is held."""
        conversation = mirror.conversation
        if frame["type"] == "snapshot":
            began = Mirror(
                frame["reply"], conversation, frame["seq"], frame["blocks"], frame.get("before", 0)
            )
            began.position = mirror.position
            self._show(began)
            return
        if frame["type"] == "blocks":
            known = mirror.seq
            if not mirror.apply(frame):
                self._unread.add(conversation)
            if mirror.seq == known:
                return
        elif frame["reply"] != mirror.reply and frame["type"] == "place":
            return
        elif frame["type"] == "place":
            mirror.before = frame["before"]
        elif frame["reply"] == mirror.reply:
            del self._mirrors[conversation]
        Hub._send(self, conversation, frame)

    # What the database says of replies of which Redis tells nothing.

    def _find_in_database(self, conversations: Iterable[str]) -> None:
        """Note the replies that are being written in these conversations, although Redis has none."""
        if not (wanted := list(conversations)):
            return
        try:
            running = dict(self._query("conversation_id", wanted))
        except DatabaseError:
            logger.warning("the database could not be asked for running replies", exc_info=True)
            with self._lock:
                self._unread |= {*wanted}
            return
        with self._lock:
            for conversation in wanted:
                if conversation not in self._watchers or conversation in self._live:
                    continue
                if (reply := running.get(conversation)) is not None and conversation not in self._mirrors:
                    self._mirrors[conversation] = _make_empty(reply, conversation)

    def _end_quiet(self) -> None:
        """Tell sockets which replies have ended without a word, as those of a killed process do."""
        if self._availability.is_down:
            self._find_in_database(self._unread - self._mirrors.keys())
        limit = time.monotonic() - QUIET_SECONDS
        with self._lock:
            quiet = [mirror for mirror in self._mirrors.values() if mirror.heard_monotonic < limit]
        if not quiet:
            return
        try:
            running = {reply for _, reply in self._query("pk", [mirror.reply for mirror in quiet])}
        except DatabaseError:
            logger.warning("the database could not be asked which replies have ended", exc_info=True)
            return
        with self._lock:
            for mirror in quiet:
                mirror.heard_monotonic = time.monotonic()
                if self._mirrors.get(mirror.conversation) is not mirror:
                    continue
                if mirror.reply in running:
                    self._unread |= {mirror.conversation} if mirror.is_empty else set()
                    continue
                del self._mirrors[mirror.conversation]
                Hub._send(self, mirror.conversation, {"type": "done", "reply": mirror.reply})
                # The next one may have begun unnoticed.
                self._unread.add(mirror.conversation)

    def _query(self, name: str, values: Sequence[str]) -> list[tuple[str, str]]:
        """Return conversation and reply of the replies that are being written, chosen by a column."""
        close_old_connections()
        try:
            rows = Message.objects.filter(state=MessageState.STREAMING, **{f"{name}__in": values})
            return [(str(a), str(b)) for a, b in rows.values_list("conversation_id", "pk")]
        finally:
            release_connection()


def _make_empty(reply: str, conversation: str) -> Mirror:
    return Mirror(reply, conversation, is_empty=True, heard_monotonic=time.monotonic())
