"""Fans a reply out to the sockets that watch its conversation: a snapshot, then numbered frames (design §8).

Replies are published from worker threads; each watcher is served in its own event loop. The channel layer
is not used for text: it drops messages past a hundred (traps C4).
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

QUEUE_LENGTH = 64

Frame = dict[str, Any]


class Watcher:
    """One socket's bounded queue; when it falls behind it gets a snapshot instead of a backlog."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.frames: asyncio.Queue[Frame] = asyncio.Queue(QUEUE_LENGTH)

    def put(self, frame: Frame) -> None:
        """Hand over a frame from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._put, frame)
        except RuntimeError:  # the loop has closed: nobody is watching any more
            return

    def _put(self, frame: Frame) -> None:
        if self.frames.full():
            waiting = [self.frames.get_nowait() for _ in range(self.frames.qsize())]
            self.frames.put_nowait({"type": "behind"})
            # A snapshot stands for all the text, but says nothing of a reply that has ended.
            for ended in [f for f in waiting if f["type"] == "done"][1 - QUEUE_LENGTH // 2 :]:
                self.frames.put_nowait(ended)
        self.frames.put_nowait(frame)


@dataclass
class LiveReply:
    """A reply that is being written: all blocks so far and the number of the last frame."""

    reply: str
    conversation: str
    seq: int = 0
    blocks: list[str] = field(default_factory=list)

    def snapshot(self) -> Frame:
        """Return everything so far as one frame."""
        return {"type": "snapshot", "reply": self.reply, "seq": self.seq, "blocks": list(self.blocks)}


class Hub:
    """The replies being written in this process and who watches; all methods are safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: dict[str, LiveReply] = {}
        self._watchers: defaultdict[str, set[Watcher]] = defaultdict(set)

    def watch(self, conversation: str, watcher: Watcher) -> None:
        """Subscribe to a conversation; a reply in the making arrives as a snapshot first."""
        with self._lock:
            self._watchers[conversation].add(watcher)
            if live := self._live.get(conversation):
                watcher.put(live.snapshot())

    def resend(self, conversation: str, watcher: Watcher) -> str | None:
        """Send a watcher everything so far once more; returns which reply is in the making, if any."""
        with self._lock:
            if (live := self._live.get(conversation)) is None:
                return None
            watcher.put(live.snapshot())
            return live.reply

    def unwatch(self, conversation: str, watcher: Watcher) -> None:
        """End a subscription."""
        with self._lock:
            self._watchers[conversation].discard(watcher)
            if not self._watchers[conversation]:
                del self._watchers[conversation]

    def is_watched(self, conversation: str) -> bool:
        """Return whether a page of this conversation is open."""
        with self._lock:
            return conversation in self._watchers

    def snapshot(self, conversation: str) -> Frame | None:
        """Return the reply in the making of a conversation, None when there is none."""
        with self._lock:
            live = self._live.get(conversation)
            return live.snapshot() if live else None

    def open(self, conversation: str, reply: str) -> None:
        """Announce a reply that begins."""
        with self._lock:
            self._live[conversation] = live = LiveReply(reply, conversation)
            self._send(conversation, live.snapshot())

    def publish(self, conversation: str, first: int, blocks: list[str]) -> None:
        """Send the blocks of the running reply from index `first` on."""
        with self._lock:
            live = self._live.get(conversation)
            if live is None:
                return
            live.seq += 1
            live.blocks[first:] = blocks
            frame = {"type": "blocks", "reply": live.reply, "seq": live.seq, "from": first, "html": blocks}
            self._send(conversation, frame)

    def close(self, conversation: str, reply: str) -> None:
        """Announce a reply's end; its final text is in the database by now."""
        with self._lock:
            # Its row was final a moment ago, so the next reply may have begun already.
            if (live := self._live.get(conversation)) and live.reply == reply:
                del self._live[conversation]
            self._send(conversation, {"type": "done", "reply": reply})

    def _send(self, conversation: str, frame: Frame) -> None:
        for watcher in self._watchers.get(conversation, ()):
            watcher.put(frame)


hub = Hub()
