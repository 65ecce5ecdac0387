"""The socket of a page: frames of the reply in the making, and hints that something else has changed."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncJsonWebsocketConsumer

from chat.actions import conversations, events
from chat.generation import run as generation
from chat.generation.hub import Frame, Watcher, hub
from chat.llm.registry import registry
from chat.models import Conversation

_STRANGER, _NOT_FOUND = 4401, 4404


class ChatConsumer(AsyncJsonWebsocketConsumer):
    """Watches one conversation of its owner, or none; owns no reply, so closing it stops nothing."""

    conversation: str | None = None
    watcher: Watcher | None = None
    pump: asyncio.Task[None] | None = None
    groups_of_mine: tuple[str, ...] = ()

    async def connect(self) -> None:
        """Accept the owner, for a conversation of theirs."""
        user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            await self.close(_STRANGER)
            return
        wanted = parse_qs(self.scope.get("query_string", b"").decode(errors="replace")).get(
            "conversation", [""]
        )[0]
        if wanted and not await _owns(user, wanted):
            await self.close(_NOT_FOUND)
            return
        loop = asyncio.get_running_loop()
        events.bind_loop(loop)
        self.groups_of_mine = (events.group_of(user.pk), events.group_of(events.EVERYONE))
        for group in self.groups_of_mine:
            await self.channel_layer.group_add(group, self.channel_name)
        await self.accept()
        if wanted:
            self.conversation = str(UUID(wanted))
            self.watcher = Watcher(loop)
            self.pump = asyncio.create_task(self._pump(self.watcher))
            hub.watch(self.conversation, self.watcher)

    async def disconnect(self, code: int) -> None:
        """Stop watching; the reply goes on."""
        if self.watcher is not None and self.conversation is not None:
            hub.unwatch(self.conversation, self.watcher)
            if not hub.is_watched(self.conversation):
                await database_sync_to_async(conversations.left)(self.conversation)
        if self.pump is not None:
            self.pump.cancel()
            # It may have died already, of a send after the peer had gone.
            await asyncio.gather(self.pump, return_exceptions=True)
        for group in self.groups_of_mine:
            await self.channel_layer.group_discard(group, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **_: Any) -> None:
        """Read one frame; what is no JSON text is none of ours and gets no answer."""
        try:
            content = json.loads(text_data or "")
        except (ValueError, RecursionError):
            return
        await self.receive_json(content)

    async def receive_json(self, content: Any, **kwargs: Any) -> None:
        """Answer at once; nothing here waits for a model (traps C1)."""
        kind = content.get("type") if isinstance(content, dict) else None
        if kind == "ping":
            await self.send_json({"type": "pong"})
        elif kind in ("hello", "resync"):
            await self._catch_up(content.get("reply"))
            # The model may have become ready between the page and its socket, when nobody heard of it.
            if content.get("model") not in (None, registry.status().state.value):
                await self.send_json({"type": "model"})
        elif kind == "stop" and self._is_here(reply := content.get("reply")):
            generation.stop(reply)

    async def _catch_up(self, reply: object) -> None:
        """Send the reply in the making; a page that still waits for one that has ended is told so."""
        live = None
        if self.conversation is not None and self.watcher is not None:
            # Through the queue: sent past it, older frames would follow the snapshot.
            live = hub.resend(self.conversation, self.watcher)
        if isinstance(reply, str) and live != reply:
            await self.send_json({"type": "done", "reply": reply})

    def _is_here(self, reply: object) -> bool:
        live = hub.snapshot(self.conversation) if self.conversation else None
        return live is not None and live["reply"] == reply

    async def _pump(self, watcher: Watcher) -> None:
        while True:
            frame: Frame | None = await watcher.frames.get()
            if frame is not None and frame["type"] == "behind":
                frame = hub.snapshot(self.conversation or "")
            if frame is not None:
                await self.send_json(frame)

    async def owner_event(self, message: dict[str, Any]) -> None:
        """Pass an event of the owner's on to the page; the page of a deleted conversation is closed."""
        await self.send_json(message["event"])
        if self.conversation is not None and message["event"].get("gone") == self.conversation:
            await self.close(_NOT_FOUND)


@database_sync_to_async
def _owns(user: Any, conversation: str) -> bool:
    try:
        return Conversation.objects.for_owner(user).kept().filter(pk=UUID(conversation)).exists()
    except ValueError:
        return False
