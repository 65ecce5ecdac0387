"""The WebSocket of a page: frames of the reply that is being written, and events of the owner."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, cast
from urllib.parse import parse_qs
from uuid import UUID

from channels.db import DatabaseSyncToAsync, database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.db import DatabaseError

from chat.access import has_conversation
from chat.actions import conversations, events, owners, processes
from chat.generation import elsewhere
from chat.generation import run as generation
from chat.generation.hub import Frame, Watcher, hub
from chat.llm.registry import registry
from chat.models import User
from chat.socket_access import Login, watch

logger = logging.getLogger(__name__)

# Close codes of our own; static/js/socket.js knows them.
_CLOSE_UNAUTHENTICATED, _CLOSE_NOT_FOUND, _CLOSE_TOO_MANY = 4401, 4404, 4429
# In server mode, of one person in this process. Each takes memory, and others need it too.
MAX_SOCKETS_OF_ONE = 20
# How long the process that writes a reply has for stopping it; after that its saved text is the end.
_STOPPING_SECONDS = 2.0
# Open sockets by the key of their user; used in the event loop only.
_open_sockets: Counter[int] = Counter()


# While another process holds SQLite's lock, writes wait for up to 20 s. In threads of their own they do not
# keep sockets from reading.
_writers = ThreadPoolExecutor(2, "socket-writing")


async def _write(action: Callable[..., object], *args: object) -> None:
    await DatabaseSyncToAsync(action, thread_sensitive=False, executor=_writers)(*args)


async def _store_time_zone(user: User, zone: str) -> None:
    try:
        await _write(owners.adopt_time_zone, user, zone)
    except DatabaseError:
        # The next socket stores it.
        logger.warning("the time zone of the browser could not be stored", exc_info=True)


async def _announce_pages() -> None:
    """Tell the other processes on the database at once which conversations are open here."""
    try:
        await _write(processes.renew, hub.list_watched())
    except DatabaseError:
        # The next heartbeat stores it.
        logger.warning("the open pages could not be announced", exc_info=True)


async def _stop_elsewhere(reply: str, conversation: str) -> None:
    """Stop a reply of another process; a thread is taken only where that process does not end it in time."""
    try:
        if not await elsewhere.ask_to_stop(reply, _STOPPING_SECONDS, conversation):
            await _write(elsewhere.end_with_saved_text, reply)
    except DatabaseError:
        logger.warning("a reply of another process could not be stopped", exc_info=True)


class ChatConsumer(AsyncJsonWebsocketConsumer):
    """One page's socket, for one conversation of the user or for none.

    The reply runs in its own thread, so closing the socket does not stop it.
    """

    conversation: str | None = None
    watcher: Watcher | None = None
    pump: asyncio.Task[None] | None = None
    joined_groups: tuple[str, ...] = ()
    storing_zone: asyncio.Task[None] | None = None
    counted_user: int | None = None
    announcing: asyncio.Task[None] | None = None
    stopping: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Accept an authenticated user, for a conversation of their own."""
        user = cast("User | None", self.scope.get("user"))
        if user is None or not user.is_authenticated:
            await self._refuse(_CLOSE_UNAUTHENTICATED)
            return
        if not owners.is_local() and _open_sockets[user.pk] >= MAX_SOCKETS_OF_ONE:
            await self._refuse(_CLOSE_TOO_MANY)
            return
        self.counted_user = user.pk
        _open_sockets[user.pk] += 1
        query = parse_qs(self.scope.get("query_string", b"").decode(errors="replace"))
        wanted, zone = (query.get(name, [""])[0] for name in ("conversation", "zone"))
        if wanted and not await database_sync_to_async(has_conversation)(user, wanted):
            await self._refuse(_CLOSE_NOT_FOUND)
            return
        loop = asyncio.get_running_loop()
        events.bind_loop(loop)
        self.joined_groups = (events.group_name(user.pk), events.group_name(events.EVERYONE))
        for group in self.joined_groups:
            await self.channel_layer.group_add(group, self.channel_name)
        await self.accept()
        watch.add(self, self._describe_login(user), partial(self.close, _CLOSE_UNAUTHENTICATED))
        # The page does not wait for it.
        self.storing_zone = asyncio.create_task(_store_time_zone(user, zone))
        if wanted:
            self.conversation = str(UUID(wanted))
            self.watcher = Watcher(loop)
            self.pump = asyncio.create_task(self._send_frames(self.watcher))
            hub.watch(self.conversation, self.watcher)
            if processes.is_database_shared():
                self.announcing = asyncio.create_task(_announce_pages())

    async def _refuse(self, code: int) -> None:
        """Accept and close: of a socket that was never open, browsers do not tell the page the code."""
        await self.accept()
        await self.close(code)

    def _describe_login(self, user: User) -> Login:
        token = str(self.scope.get("token") or "")
        session = self.scope.get("session")
        key = "" if token or session is None or owners.is_local() else session.session_key or ""
        return Login(user.pk, session=key, token=token)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket; whatever ends it, also an error, it is forgotten everywhere."""

        async def send_if_open(message: Any) -> None:
            # The peer has gone: the next message that is received says so.
            with suppress(OSError):
                await send(message)

        try:
            await super().__call__(scope, receive, send_if_open)
        finally:
            await self._leave()

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Handle a message. An event needs no database, for which Channels would take a thread."""
        if message["type"] == "owner.event":
            await self.owner_event(message)
        else:
            await super().dispatch(message)

    async def _leave(self) -> None:
        """Stop watching the conversation; its reply goes on."""
        watch.discard(self)
        if self.counted_user is not None:
            _open_sockets[self.counted_user] -= 1
            if not _open_sockets[self.counted_user]:
                del _open_sockets[self.counted_user]
            self.counted_user = None
        if self.pump is not None:
            self.pump.cancel()
            # The task may have ended with an error already: a send after the peer had closed the socket.
            await asyncio.gather(self.pump, return_exceptions=True)
        for group in self.joined_groups:
            await self.channel_layer.group_discard(group, self.channel_name)
        if self.watcher is None or self.conversation is None:
            return
        hub.unwatch(self.conversation, self.watcher)
        if not hub.is_watched(self.conversation):
            try:
                await _write(conversations.schedule_end_after_close, self.conversation)
            except DatabaseError:
                # The sweep ends idle conversations too.
                logger.warning("the end of a conversation could not be scheduled", exc_info=True)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **_: Any) -> None:
        """Parse one frame; text that is not JSON is ignored."""
        try:
            content = json.loads(text_data or "")
        except (ValueError, RecursionError):
            return
        await self.receive_json(content)

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        """Handle one frame. Nothing here waits for a model: that would block the event loop."""
        kind = content.get("type") if isinstance(content, dict) else None
        if kind == "ping":
            await self.send_json({"type": "pong"})
        elif kind in ("hello", "resync"):
            await self._send_current_state(content.get("reply"))
            # The model may have become ready after the page was rendered and before its socket opened.
            if content.get("model") not in (None, registry.status().state.value):
                await self.send_json({"type": "model"})
        elif kind == "stop":
            self._stop(content.get("reply"))

    async def _send_current_state(self, reply: object) -> None:
        """Send a snapshot of the running reply; send `done` where the reply that the page shows has ended."""
        live = None
        if self.conversation is not None and self.watcher is not None:
            # Through the queue of frames: sent directly, the snapshot could arrive before older frames.
            live = hub.resend(self.conversation, self.watcher)
        if not isinstance(reply, str) or live == reply:
            return
        # Without Redis no thread is taken for it.
        if hub.is_shared and await database_sync_to_async(elsewhere.is_expected)(reply, self.conversation):
            return
        await self.send_json({"type": "done", "reply": reply})

    def _stop(self, reply: object) -> None:
        """Stop a reply of this conversation, whoever writes it."""
        if self.conversation is None or not isinstance(reply, str):
            return
        if generation.stop_here(reply, self.conversation) or not hub.is_shared:
            return
        # Another click while it is being stopped changes nothing.
        if self.stopping is None or self.stopping.done():
            self.stopping = asyncio.create_task(_stop_elsewhere(reply, self.conversation))

    async def _send_frames(self, watcher: Watcher) -> None:
        """Send frames from the watcher's queue; a snapshot replaces those that a slow socket missed."""
        while True:
            frame: Frame | None = await watcher.frames.get()
            if frame is not None and frame["type"] == "behind":
                frame = hub.snapshot(self.conversation or "")
            if frame is not None:
                await self.send_json(frame)

    async def owner_event(self, message: dict[str, Any]) -> None:
        """Send an event of the channel layer to the page; close the socket of a deleted conversation."""
        await self.send_json(message["event"])
        if self.conversation is not None and message["event"].get("gone") == self.conversation:
            await self.close(_CLOSE_NOT_FOUND)
