"""The pages of the people: each follows one person's newest reply until its socket says that it has ended."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from typing import Any, Self

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from .client import CrashClient

_LONGEST_REPLY_SECONDS = 30.0
_RECONNECT_SECONDS = 0.5


class PageWatch:
    """Follows replies in a thread of its own; a socket that breaks is opened again, as a page does."""

    def __init__(self, base: str, clients: Sequence[CrashClient]) -> None:
        self._address = f"{base.replace('http', 'ws')}/ws/"
        self._clients = clients
        self._over = threading.Event()
        self._told = 0
        self._faults: list[str] = []
        self._thread = threading.Thread(target=lambda: asyncio.run(self._follow_all()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(60)

    def count_told(self) -> int:
        """Return of how many replies a page was told that they have ended."""
        return self._told

    def find_faults(self) -> list[str]:
        """Return the replies of which a page was not told in time."""
        return list(self._faults)

    async def _follow_all(self) -> None:
        await asyncio.gather(*(self._follow(client) for client in self._clients))

    async def _follow(self, client: CrashClient) -> None:
        seen = ""
        while not self._over.is_set():
            newest = [
                (chat.id, chat.last_reply) for chat in [*client.ledger.chats.values()] if chat.last_reply
            ]
            if not newest or newest[-1][1] == seen:
                await asyncio.sleep(0.05)
                continue
            chat, seen = newest[-1]
            if await self._is_told(client, chat, seen):
                self._told += 1
            elif not self._over.is_set():
                self._faults.append(f"a page was not told that a reply has ended: {seen}")

    async def _is_told(self, client: CrashClient, chat: str, reply: str) -> bool:
        """Return whether the socket says in time that the reply has ended."""
        deadline = time.monotonic() + _LONGEST_REPLY_SECONDS
        while time.monotonic() < deadline and not self._over.is_set():
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + 5):
                    page = await connect(
                        f"{self._address}?conversation={chat}", additional_headers=client.headers
                    )
                async with page:
                    await page.send(json.dumps({"type": "hello", "reply": reply}))
                    while time.monotonic() < deadline:
                        async with asyncio.timeout(5):
                            frame: Any = json.loads(await page.recv())
                        if frame["type"] == "done" and frame["reply"] == reply:
                            return True
            except TimeoutError:
                # Nothing was sent for long; a page would ask again.
                continue
            except (OSError, WebSocketException):
                await asyncio.sleep(_RECONNECT_SECONDS)
        return False
