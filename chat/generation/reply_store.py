"""A running reply in Redis: a stream of its frames, and a snapshot from which a new reader begins.

Both are changed in one step, so that the snapshot has exactly what the frames before it said. They exist
while the reply is written: its end removes its text, and what a killed process leaves expires.

Each conversation has one of both. While one process ends a reply, another may have begun the next one, so
scripts in Redis compare the reply of the snapshot first: only its own process changes or removes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings

from memoryapp.base import redis

from .hub import Frame, LiveReply

if TYPE_CHECKING:
    from redis import Redis
    from redis.client import Pipeline

# The last frames of a reply; a reader that is further behind takes the snapshot.
MAX_FRAMES = 200
# Seconds for which the word that a reply has ended stays, without its text.
END_SECONDS = 30
_BEGINNING = "0-0"

# KEYS: snapshot, stream. ARGV: reply, extent, most frames, seconds, number of texts for the snapshot, these
# texts, frames. A part is not stored where no snapshot is: its other blocks would be missing.
_ADD_FRAMES = """
local holder = redis.call('HGET', KEYS[1], 'reply')
if ARGV[2] == 'anew' then redis.call('DEL', KEYS[1])
elseif holder and holder ~= ARGV[1] then return end
local last = 5 + tonumber(ARGV[5])
if holder or ARGV[2] ~= 'part' then
  for i = 6, last, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
for i = last + 1, #ARGV do redis.call('XADD', KEYS[2], 'MAXLEN', ARGV[3], '*', 'frame', ARGV[i]) end
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('EXPIRE', KEYS[2], ARGV[4])
"""
# KEYS as above. ARGV: reply, frame, most frames, seconds.
_ADD_END = """
local holder = redis.call('HGET', KEYS[1], 'reply')
if holder and holder ~= ARGV[1] then
  redis.call('XADD', KEYS[2], 'MAXLEN', ARGV[3], '*', 'frame', ARGV[2])
  return
end
redis.call('DEL', KEYS[1])
redis.call('XADD', KEYS[2], 'MAXLEN', 1, '*', 'frame', ARGV[2])
redis.call('EXPIRE', KEYS[2], ARGV[4])
"""


def name_snapshot(conversation: str) -> str:
    """Return the key of the snapshot of the reply in a conversation."""
    return redis.name_key("reply", conversation, "snapshot")


def name_stream(conversation: str) -> str:
    """Return the key of the stream of the reply in a conversation."""
    return redis.name_key("reply", conversation, "frames")


def count_lifetime() -> int:
    """Return after how many seconds the texts of a dead process expire."""
    return max(10, round(2 * settings.PROCESS_DEAD_SECONDS))


def add_frames(pipe: Pipeline, live: LiveReply, frames: Sequence[Frame], first: int, *, anew: bool) -> None:
    """Add frames to the stream, and to the snapshot the blocks from `first` on; `anew` begins the snapshot.

    Without `anew` nothing is added where the snapshot is of another reply.
    """
    fields: dict[str, Any] = {"reply": live.reply, "seq": live.seq, "before": live.before}
    fields["blocks"] = len(live.blocks)
    fields |= {str(index): live.blocks[index] for index in range(first, len(live.blocks))}
    pairs = [part for pair in fields.items() for part in pair]
    texts = [json.dumps(frame) for frame in frames]
    limits = (MAX_FRAMES, count_lifetime())
    extent = "anew" if anew else "part" if first else "whole"
    _run(pipe, _ADD_FRAMES, live.conversation, live.reply, extent, *limits, len(pairs), *pairs, *texts)


def add_end(pipe: Pipeline, conversation: str, reply: str) -> None:
    """Say that a reply has ended, and remove its text; not that of another reply that has begun meanwhile."""
    done = json.dumps({"type": "done", "reply": reply})
    _run(pipe, _ADD_END, conversation, reply, done, MAX_FRAMES, END_SECONDS)


def _run(pipe: Pipeline, script: str, conversation: str, *arguments: Any) -> None:
    pipe.eval(script, 2, name_snapshot(conversation), name_stream(conversation), *arguments)


def keep(pipe: Pipeline, conversation: str) -> None:
    """Keep the texts of a running reply for another lifetime."""
    for key in (name_snapshot(conversation), name_stream(conversation)):
        pipe.expire(key, count_lifetime())


def erase(pipe: Pipeline, conversation: str) -> None:
    """Remove what Redis holds of the replies of a conversation."""
    pipe.delete(name_snapshot(conversation), name_stream(conversation))


@dataclass
class Mirror(LiveReply):
    """A reply that another process writes, as its frames tell. Times are of the monotonic clock."""

    # Of the last entry of the stream that was read.
    position: str = _BEGINNING
    # Known from the database alone: its text is not known yet.
    is_empty: bool = False
    heard_monotonic: float = 0.0

    def apply(self, frame: Frame) -> bool:
        """Apply a frame with blocks; False where frames before it are missing."""
        if frame["seq"] != self.seq + 1 or frame["reply"] != self.reply:
            return bool(frame["seq"] <= self.seq and frame["reply"] == self.reply)
        first, html = frame["from"], list(frame["html"])
        if html:
            old = self.blocks[first] if first < len(self.blocks) else ""
            html[0] = cut_units(old, frame["keep"]) + html[0]
        self.blocks[first:] = html
        self.seq = frame["seq"]
        return True


def cut_units(text: str, units: int) -> str:
    """Return the beginning of a text with so many UTF-16 code units, as JavaScript counts."""
    if text.isascii():
        return text[:units]
    return text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "surrogatepass")


def load(client: Redis, conversation: str) -> Mirror | None:
    """Return the reply that is being written in a conversation; None where Redis has none."""
    pipe = client.pipeline(transaction=True)
    pipe.hgetall(name_snapshot(conversation))
    pipe.xrevrange(name_stream(conversation), count=1)
    fields, newest = pipe.execute()
    if not fields:
        return None
    return _build_mirror(conversation, fields, newest[0][0] if newest else _BEGINNING)


def _build_mirror(conversation: str, fields: Mapping[str, str], position: str) -> Mirror:
    return Mirror(
        fields["reply"],
        conversation,
        int(fields["seq"]),
        [fields.get(str(index), "") for index in range(int(fields["blocks"]))],
        int(fields["before"]),
        position=position,
    )


def read_frames(
    client: Redis, positions: Mapping[str, str], wait_ms: int
) -> Sequence[tuple[str, str, Frame]]:
    """Return the next frames as (conversation, position, frame), of conversations with the last position.

    Waits up to `wait_ms` milliseconds where there are none.
    """
    conversations = {name_stream(conversation): conversation for conversation in positions}
    streams: Any = {key: positions[conversation] for key, conversation in conversations.items()}
    answer: Any = client.xread(streams, block=wait_ms) or []
    # The newer protocol answers with a mapping.
    found = answer.items() if isinstance(answer, dict) else answer
    entries = [(key, entry) for key, parts in found for entry in _flatten(parts)]
    return [(conversations[key], place, json.loads(fields["frame"])) for key, (place, fields) in entries]


def _flatten(parts: Any) -> list[Any]:
    """Return the entries of a stream; the newer protocol has them in one more list."""
    if parts and parts[0] and isinstance(parts[0][0], (list, tuple)):
        return [entry for part in parts for entry in part]
    return list(parts)
