"""Messages between the processes on one Redis: events of pages, stops of replies, wake-ups of workers.

A thread sends what others have queued, all that waits in one round trip, and another thread receives. Nobody
else waits for Redis. While Redis does not answer, messages are dropped: nothing may depend on their arrival.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from . import redis

if TYPE_CHECKING:
    from redis import Redis
    from redis.client import Pipeline

logger = logging.getLogger(__name__)

# Writes that wait; more are dropped. One is a frame of all that a reply has written since its last one.
MAX_WAITING = 5000
_RETRY_SECONDS = 0.5
# The pause after a failure doubles up to this where Redis fails again as soon as it seems to answer.
_MOST_RETRY_SECONDS = 8.0
_RECEIVE_SECONDS = 1.0
# Seconds without a message after which the connection of the receiver is checked.
_CHECK_SECONDS = 5

# Returns what is to be called when Redis has taken it, or None.
Write = Callable[["Pipeline"], Callable[[], None] | None]
Listener = Callable[[], None]


class MessageBus:
    """Sends to and receives from the other processes; without Redis it does nothing.

    Callable from any thread. Threads begin with the first message and the first listener. Handlers run in
    the thread of the receiver and must not wait for anything.
    """

    def __init__(self, url: str | None = None) -> None:
        """`url` is for tests; by default that of REDIS_URL, None there for no Redis."""
        self._url = url
        self._key = uuid4().hex
        self._changed = threading.Condition()
        self._waiting: list[Write] = []
        self._messages: dict[str, None] = {}
        self._handlers: defaultdict[str, list[Callable[[dict[str, Any]], None]]] = defaultdict(list)
        self._after_outage: list[Listener] = []
        self._threads: dict[str, threading.Thread] = {}
        self._closed = threading.Event()
        self._pause_seconds = _RETRY_SECONDS
        self.availability = redis.Availability("pages of other servers see replies and events later")

    @property
    def is_used(self) -> bool:
        """Return whether there is a Redis."""
        return bool(self._url) or redis.is_configured()

    @property
    def is_down(self) -> bool:
        """Return whether Redis does not answer, as far as is known."""
        return self.availability.is_down

    def publish(self, kind: str, **fields: Any) -> bool:
        """Send a message to the other processes; False where it is dropped. Equal ones that wait are one."""
        if not self.is_used or self.is_down:
            return False
        text = json.dumps({"kind": kind, "from": self._key, **fields})
        with self._changed:
            if len(self._messages) >= MAX_WAITING:
                return False
            self._messages[text] = None
            self._changed.notify()
        self._begin("redis-sending", self._send_all)
        return True

    def write(self, write: Write) -> bool:
        """Let the sending thread call `write` with a pipeline soon; False where it is dropped."""
        if not self.is_used or self.is_down:
            return False
        with self._changed:
            if len(self._waiting) >= MAX_WAITING:
                return False
            self._waiting.append(write)
            self._changed.notify()
        self._begin("redis-sending", self._send_all)
        return True

    def listen(self, kind: str, handler: Callable[[dict[str, Any]], None]) -> None:
        """Call the handler with each message of a kind that another process sends."""
        if self.is_used:
            self._handlers[kind].append(handler)
            self._begin("redis-receiving", self._receive_all)

    def forget(self, kind: str, handler: Callable[[dict[str, Any]], None]) -> None:
        """Stop calling a handler."""
        if handler in self._handlers[kind]:
            self._handlers[kind].remove(handler)

    def call_after_outage(self, listener: Listener) -> None:
        """Call the listener when messages begin to arrive, and when Redis answers again after an outage: what
        others sent before, and what was stored, may be lost.
        """
        self._after_outage.append(listener)

    def close(self) -> None:
        """End the threads; for tests."""
        self._closed.set()
        with self._changed:
            self._changed.notify_all()
        for thread in self._threads.values():
            thread.join(5)

    def make_message(self, kind: str, **fields: Any) -> tuple[str, str]:
        """Return the channel and the text of a message, for a pipeline of `write`."""
        return redis.name_key("messages"), json.dumps({"kind": kind, "from": self._key, **fields})

    def _begin(self, name: str, target: Callable[[], None]) -> None:
        with self._changed:
            if name in self._threads or self._closed.is_set():
                return
            self._threads[name] = threading.Thread(target=target, name=name, daemon=True)
            self._threads[name].start()

    def _take(self) -> tuple[list[Write], list[str]]:
        with self._changed:
            while not (self._waiting or self._messages or self._closed.is_set()):
                self._changed.wait()
            writes, self._waiting = self._waiting, []
            messages, self._messages = list(self._messages), {}
        return writes, messages

    def _send_all(self) -> None:
        with redis.connect(self._url or "") as client:
            while not self._closed.is_set():
                try:
                    self._send(client, *self._take())
                except redis.list_errors() as error:
                    self.availability.note_failure(error)
                    self._await_answer(client)
                except Exception:  # the thread must go on for the other replies
                    logger.exception("messages for other processes could not be sent")
                    self._closed.wait(_RETRY_SECONDS)

    def _send(self, client: Redis, writes: list[Write], messages: list[str]) -> None:
        # By themselves: a Redis without free memory refuses writes only.
        if messages:
            pipeline = client.pipeline(transaction=False)
            for text in messages:
                pipeline.publish(redis.name_key("messages"), text)
            pipeline.execute()
        if writes:
            pipeline = client.pipeline(transaction=True)
            taken = [call for write in writes if (call := write(pipeline)) is not None]
            pipeline.execute()
            for call in taken:
                call()
            self._pause_seconds = _RETRY_SECONDS

    def _await_answer(self, client: Redis) -> None:
        """Wait until Redis takes a write: also one that refuses writes answers pings."""
        pause, self._pause_seconds = self._pause_seconds, min(2 * self._pause_seconds, _MOST_RETRY_SECONDS)
        while not self._closed.wait(pause):
            try:
                client.set(redis.name_key("probe"), "1", ex=5)
            except redis.list_errors():
                pause = _RETRY_SECONDS
                continue
            self._end_outage()
            return

    def _end_outage(self) -> None:
        with self._changed:
            self._waiting, self._messages = [], {}
        self.availability.note_success()
        self._call_listeners()

    def _call_listeners(self) -> None:
        for listener in list(self._after_outage):
            try:
                listener()
            except Exception:  # the others must be called
                logger.exception("what was lost during an outage of Redis could not be sent again")

    def _receive_all(self) -> None:
        was_lost = True
        while not self._closed.is_set():
            try:
                with redis.connect(self._url or "") as client, client.pubsub() as subscription:
                    subscription.subscribe(redis.name_key("messages"))
                    if was_lost:
                        self._call_listeners()
                    was_lost = False
                    self._receive(subscription)
            except redis.list_errors():
                was_lost = True
                self._closed.wait(_RETRY_SECONDS)
            except Exception:  # the thread must go on for the other messages
                was_lost = True
                logger.exception("messages of other processes could not be received")
                self._closed.wait(_RETRY_SECONDS)

    def _receive(self, subscription: Any) -> None:
        quiet = 0
        while not self._closed.is_set():
            found = subscription.get_message(timeout=_RECEIVE_SECONDS)
            quiet = 0 if found else quiet + 1
            if quiet >= 2 * _CHECK_SECONDS:
                # Nobody has answered the last ping either.
                raise ConnectionError
            if quiet == _CHECK_SECONDS:
                subscription.ping()
            if found and found["type"] == "message":
                self._handle(found["data"])

    def _handle(self, text: str) -> None:
        try:
            message = json.loads(text)
            if message["from"] == self._key:
                return
            handlers = list(self._handlers.get(message["kind"], ()))
        except (ValueError, TypeError, KeyError, RecursionError):
            logger.warning("another program sends messages in the channel of this installation")
            return
        for handler in handlers:
            try:
                handler(message)
            except Exception:  # the thread must go on for the other messages
                logger.exception("a message of another process could not be handled")


bus = MessageBus()
