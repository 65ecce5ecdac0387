"""Delivers replies while they are written: to sockets as numbered frames, to programs as text.

Threads that write replies publish to the hub; each watcher receives in its own event loop. A new watcher gets
a snapshot of the reply first. The channel layer is not used for text: it drops messages beyond its capacity
of 100.
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chat.llm.state_cache import common_prefix
from memoryapp.base.redis import is_configured

QUEUE_LENGTH = 64
# The value of `LiveReply.before` while the model reasons before its reply.
REASONING = -1

Frame = dict[str, Any]


class Watcher:
    """The bounded queue of one socket, or of one HTTP request that follows a reply.

    When the reader falls behind and the queue is full, the waiting frames are replaced by the frame "behind",
    and the socket's consumer sends `Hub.snapshot` instead of them. Independently of that, a page that finds a
    gap in the sequence numbers sends "resync", which `Hub.resend` answers. The reply itself never waits.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.frames: asyncio.Queue[Frame] = asyncio.Queue(QUEUE_LENGTH)

    def put(self, frame: Frame) -> None:
        """Add a frame; callable from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._put, frame)
        except RuntimeError:  # the loop has been closed, and the socket with it
            return

    def _put(self, frame: Frame) -> None:
        if self.frames.full():
            waiting = [self.frames.get_nowait() for _ in range(self.frames.qsize())]
            self.frames.put_nowait({"type": "behind"})
            # A snapshot replaces all frames with text, but not those that say that a reply has ended.
            for ended in [f for f in waiting if f["type"] == "done"][1 - QUEUE_LENGTH // 2 :]:
                self.frames.put_nowait(ended)
        self.frames.put_nowait(frame)


@dataclass
class LiveReply:
    """A reply that is being written: its blocks of HTML so far and the number of the last frame."""

    reply: str
    conversation: str
    seq: int = 0
    blocks: list[str] = field(default_factory=list)
    # How many replies are served before it; REASONING while the model reasons before its text.
    before: int = 0

    def snapshot(self) -> Frame:
        """Return all blocks so far as one frame, with its place in the line while it waits."""
        frame = {"type": "snapshot", "reply": self.reply, "seq": self.seq, "blocks": list(self.blocks)}
        return frame | ({"before": self.before} if self.before else {})


class Hub:
    """The replies that this process is writing, and their watchers; callable from any thread.

    `chat.generation.shared_hub` adds those of other processes.
    """

    # Whether replies of other processes are shown and stopped too.
    is_shared = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: dict[str, LiveReply] = {}
        self._watchers: defaultdict[str, set[Watcher]] = defaultdict(set)

    def watch(self, conversation: str, watcher: Watcher) -> None:
        """Subscribe to a conversation; a reply that is being written is sent as a snapshot first."""
        with self._lock:
            self._watchers[conversation].add(watcher)
            if live := self._find(conversation):
                watcher.put(live.snapshot())

    def resend(self, conversation: str, watcher: Watcher) -> str | None:
        """Send a watcher a snapshot again.

        Returns the id of the reply that is being written, None without one.
        """
        with self._lock:
            if (live := self._find(conversation)) is None:
                return None
            watcher.put(live.snapshot())
            return live.reply

    def expect(self, conversation: str, reply: str) -> None:
        """Tell watchers when a reply has ended that another process writes: here there is none."""

    def unwatch(self, conversation: str, watcher: Watcher) -> None:
        """End a subscription."""
        with self._lock:
            self._watchers[conversation].discard(watcher)
            if not self._watchers[conversation]:
                del self._watchers[conversation]

    def is_watched(self, conversation: str) -> bool:
        """Return whether anybody watches this conversation."""
        with self._lock:
            return conversation in self._watchers

    def list_watched(self) -> list[str]:
        """Return the conversations that anybody watches."""
        with self._lock:
            return sorted(self._watchers)

    def snapshot(self, conversation: str) -> Frame | None:
        """Return a snapshot of the reply that is being written in a conversation, None without one."""
        with self._lock:
            live = self._find(conversation)
            return live.snapshot() if live else None

    def begin_reply(self, conversation: str, reply: str) -> None:
        """Announce that a reply begins."""
        with self._lock:
            self._live[conversation] = live = LiveReply(reply, conversation)
            self._send(conversation, live.snapshot())

    def show_place(self, conversation: str, reply: str, before: int) -> None:
        """Tell how many replies are served before one that waits; 0 where its turn has come, and REASONING
        while the model reasons.
        """
        with self._lock:
            if (live := self._live.get(conversation)) and live.reply == reply:
                live.before = before
                self._send(conversation, {"type": "place", "reply": reply, "before": before})

    def publish_blocks(self, conversation: str, first: int, blocks: list[str]) -> None:
        """Replace the reply's blocks from index `first` on, and send what is new of them.

        `keep` of the frame is how many characters of the present block `first` stay, in UTF-16 code units.
        """
        with self._lock:
            live = self._live.get(conversation)
            if live is None:
                return
            live.seq += 1
            # A long block grows with each word, and must not be sent each time.
            old = live.blocks[first] if first < len(live.blocks) else ""
            same = common_prefix(old, blocks[0]) if blocks else 0
            live.blocks[first:] = blocks
            frame = {
                **{"type": "blocks", "reply": live.reply, "seq": live.seq, "from": first},
                **{
                    "keep": count_units(old[:same]),
                    "html": [block[same:] for block in blocks[:1]] + blocks[1:],
                },
            }
            self._send(conversation, frame)

    def end_reply(self, conversation: str, reply: str) -> None:
        """Announce that a reply has ended; its final text must be in the database by now."""
        with self._lock:
            # The row became final before this call, so the next reply may have begun already.
            if (live := self._live.get(conversation)) and live.reply == reply:
                del self._live[conversation]
            self._send(conversation, {"type": "done", "reply": reply})

    def clear(self) -> None:
        """Drop all replies and all subscriptions without telling anybody; tests begin with an empty hub."""
        with self._lock:
            self._live.clear()
            self._watchers.clear()

    def erase_texts(self, conversations: Sequence[str]) -> None:
        """Remove what is kept of these conversations outside of this process: here nothing."""

    def keep_texts(self) -> None:
        """Keep what is kept outside of this process for longer: here nothing."""

    def _find(self, conversation: str) -> LiveReply | None:
        return self._live.get(conversation)

    def _send(self, conversation: str, frame: Frame) -> None:
        for watcher in self._watchers.get(conversation, ()):
            watcher.put(frame)


def count_units(text: str) -> int:
    """Return the length of a text in UTF-16 code units, as JavaScript counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def choose_hub() -> Hub:
    """Return the hub that the settings ask for: with REDIS_URL one that shows replies of all processes."""
    if not is_configured():
        return Hub()
    # It is built on this module.
    from .shared_hub import SharedHub

    return SharedHub()


hub = choose_hub()
