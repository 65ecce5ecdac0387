"""Hubs of several processes on one Redis, for tests without a database."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from chat.generation.hub import Frame, Watcher
from chat.generation.shared_hub import SharedHub
from memoryapp.base.message_bus import MessageBus
from memoryapp.base.redis import name_key
from tests.redis_server import RedisServer


class HubWithoutDatabase(SharedHub):
    """Knows of running replies what the test says."""

    running: tuple[tuple[str, str], ...] = ()

    def _query(self, name: str, values: Any) -> list[tuple[str, str]]:
        place = 0 if name == "conversation_id" else 1
        return [row for row in self.running if row[place] in values]


@contextmanager
def close_at_end(redis: RedisServer) -> Iterator[list[Callable[[], None]]]:
    """Yield a list of what is called at the end, before Redis is emptied."""
    close: list[Callable[[], None]] = []
    yield close
    for end in close:
        end()
    with redis.connect() as client:
        client.flushall()


def make_shared(redis: RedisServer, close: list[Callable[[], None]]) -> HubWithoutDatabase:
    """Return the hub of another process; it is closed with `close`."""
    messages = MessageBus(redis.url)
    await_subscription(messages, redis)
    hub = HubWithoutDatabase(messages, redis.url)
    close += [hub.close, messages.close]
    return hub


def await_subscription(messages: MessageBus, redis: RedisServer) -> None:
    """Wait until a bus receives messages: what others send before, it misses."""
    heard = threading.Event()

    def note(_message: dict[str, Any]) -> None:
        heard.set()

    messages.listen("test", note)
    text = json.dumps({"kind": "test", "from": "a test"})
    with redis.connect() as client:
        for _ in range(1000):
            client.publish(name_key("messages"), text)
            if heard.wait(0.01):
                break
    assert heard.is_set()
    messages.forget("test", note)


async def read_until(watcher: Watcher, condition: Callable[[Frame], object]) -> list[Frame]:
    """Return the frames of a watcher up to the first one for which the condition holds."""
    found: list[Frame] = []
    async with asyncio.timeout(8):
        while not found or not condition(found[-1]):
            found.append(await watcher.frames.get())
    return found
