"""The hub of a process that shares replies with others through Redis: it shows theirs, and they show its own.

What this process writes reaches its own sockets directly, with or without Redis; the thread of the message
bus passes it on. `MirroringHub` shows what others write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from memoryapp.base.message_bus import MessageBus, bus

from . import reply_store
from .hub import Frame
from .mirrored_replies import BEGAN, ENDED, MirroringHub

# Frames of one reply that wait for being sent; beyond that readers get a snapshot instead.
_MAX_FRAMES_WAITING = 64
_NO_BLOCK = 1_000_000
# Of the ends and deletions that Redis has not taken yet; older ones are forgotten, and their texts expire.
_MAX_OWED = 1000


@dataclass
class Outgoing:
    """What has not been passed on of one conversation."""

    frames: list[Frame] = field(default_factory=list)
    # The first block that has changed.
    first: int = _NO_BLOCK
    # The frames are a snapshot, with which the reply begins here.
    begins: bool = False


class SharedHub(MirroringHub):
    """The replies of all processes on one Redis; callable from any thread."""

    def __init__(self, messages: MessageBus = bus, url: str = "") -> None:
        """`url` is for tests; by default that of REDIS_URL."""
        super().__init__(messages, url)
        self._outgoing: dict[str, Outgoing] = {}
        # What Redis has not taken yet: (conversation, reply) of ended replies, and conversations to erase.
        self._ended: dict[tuple[str, str], None] = {}
        self._erased: dict[str, None] = {}
        messages.call_after_outage(self._begin_again)

    def erase_texts(self, conversations: Sequence[str]) -> None:
        """Remove the texts of these conversations from Redis."""
        with self._lock:
            for conversation in conversations:
                _owe(self._erased, conversation)
                self._bus.write(partial(self._erase, conversation))

    def keep_texts(self) -> None:
        """Keep the texts of the replies that this process writes; what a dead process left expires."""
        with self._lock:
            self._repeat_owed()
            for conversation in self._live:
                self._bus.write(partial(reply_store.keep, conversation=conversation))

    def clear(self) -> None:
        """Drop everything, as the base class does."""
        super().clear()
        with self._lock:
            self._outgoing.clear()
            self._ended.clear()
            self._erased.clear()

    def _send(self, conversation: str, frame: Frame) -> None:
        super()._send(conversation, frame)
        if frame["type"] == "snapshot":
            self._mirrors.pop(conversation, None)
            self._begun_meanwhile.discard(conversation)
        elif frame["type"] == "done" and conversation in self._begun_meanwhile:
            self._begun_meanwhile.discard(conversation)
            self._read_soon(conversation)
        self._queue(conversation, frame)

    def _queue(self, conversation: str, frame: Frame) -> None:
        """Let the bus pass on a frame, together with others that wait; the lock is held."""
        if frame["type"] == "done":
            _owe(self._ended, (conversation, frame["reply"]))
        if self._bus.is_down:
            return
        is_first = conversation not in self._outgoing
        waiting = self._outgoing.setdefault(conversation, Outgoing())
        # `_write` finds the ends among those that are owed.
        if frame["type"] != "done":
            self._add(waiting, conversation, frame)
        if is_first and not self._bus.write(partial(self._write, conversation)):
            del self._outgoing[conversation]

    def _add(self, waiting: Outgoing, conversation: str, frame: Frame) -> None:
        if frame["type"] == "snapshot":
            waiting.frames, waiting.first, waiting.begins = [frame], 0, True
        elif len(waiting.frames) >= _MAX_FRAMES_WAITING:
            waiting.frames, waiting.first = [self._live[conversation].snapshot()], 0
        else:
            waiting.frames.append(frame)
            waiting.first = min(waiting.first, frame.get("from", waiting.first))

    def _write(self, conversation: str, pipe: Any) -> Callable[[], None] | None:
        """Add what waits to a pipeline; in the thread that sends. Returns what forgets the ends in it."""
        with self._lock:
            waiting = self._outgoing.pop(conversation, None)
            live = self._live.get(conversation)
            if waiting is None:
                return None
            ended = [key for key in self._ended if key[0] == conversation]
            for _, reply in ended:
                pipe.publish(*self._bus.make_message(ENDED, conversation=conversation, reply=reply))
                reply_store.add_end(pipe, conversation, reply)
            if live is not None:
                reply_store.add_frames(pipe, live, waiting.frames, waiting.first, anew=waiting.begins)
                if waiting.begins:
                    pipe.publish(*self._bus.make_message(BEGAN, conversation=conversation))
        return partial(self._forget, self._ended, ended)

    def _erase(self, conversation: str, pipe: Any) -> Callable[[], None]:
        reply_store.erase(pipe, conversation)
        return partial(self._forget, self._erased, [conversation])

    def _forget(self, owed: dict[Any, None], taken: Sequence[Any]) -> None:
        with self._lock:
            for key in taken:
                owed.pop(key, None)

    def _repeat_owed(self) -> None:
        """Pass on the ends and deletions that Redis has not taken; the lock is held."""
        for conversation in self._erased:
            self._bus.write(partial(self._erase, conversation))
        for conversation, _ in self._ended:
            if conversation not in self._outgoing:
                self._outgoing[conversation] = Outgoing()
                if not self._bus.write(partial(self._write, conversation)):
                    del self._outgoing[conversation]

    def _begin_again(self) -> None:
        """Pass on all replies and read all conversations again: Redis may have lost everything."""
        with self._lock:
            self._outgoing.clear()
            self._repeat_owed()
            for conversation, live in self._live.items():
                self._queue(conversation, live.snapshot())
            for conversation in self._watchers:
                if conversation not in self._live:
                    self._read_soon(conversation)


def _owe(owed: dict[Any, None], key: Any) -> None:
    """Add a key, and drop the oldest one where there are too many."""
    owed[key] = None
    if len(owed) > _MAX_OWED:
        del owed[next(iter(owed))]
