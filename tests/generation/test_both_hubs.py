"""The hub of one process and the one that processes share by Redis show a reply in the same way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from chat.generation.hub import Frame, Hub, Watcher
from memoryapp.base.message_bus import MessageBus
from tests.redis_server import RedisServer

from .shared_hubs import HubWithoutDatabase, close_at_end, make_shared, read_until

pytestmark = pytest.mark.asyncio


@dataclass
class Hubs:
    """Where replies are written, and where they are shown."""

    writer: Hub
    reader: Hub
    watchers: list[Watcher] = field(default_factory=list)

    def watch(self, conversation: str = "c") -> Watcher:
        watcher = Watcher(asyncio.get_running_loop())
        self.reader.watch(conversation, watcher)
        return watcher


@pytest.fixture
def to_close(redis: RedisServer) -> Iterator[list[Callable[[], None]]]:
    """What is called at the end of the test, before Redis is emptied."""
    with close_at_end(redis) as close:
        yield close


@pytest.fixture(params=["one process", "two processes"])
def hubs(request: pytest.FixtureRequest) -> Iterator[Hubs]:
    if request.param == "one process":
        hub = Hub()
        yield Hubs(hub, hub)
        return
    redis, to_close = request.getfixturevalue("redis"), request.getfixturevalue("to_close")
    yield Hubs(make_shared(redis, to_close), make_shared(redis, to_close))


def show(frames: list[Frame]) -> list[str]:
    """Return the blocks that a page has after these frames."""
    blocks: list[str] = []
    for frame in frames:
        if frame["type"] == "snapshot":
            blocks = list(frame["blocks"])
        elif frame["type"] == "blocks":
            old = blocks[frame["from"]] if frame["from"] < len(blocks) else ""
            kept = old.encode("utf-16-le")[: 2 * frame["keep"]].decode("utf-16-le")
            blocks[frame["from"] :] = [kept + frame["html"][0], *frame["html"][1:]]
    return blocks


async def test_a_late_watcher_gets_a_snapshot_and_then_numbered_frames(hubs):
    hubs.writer.begin_reply("c", "r")
    hubs.writer.publish_blocks("c", 0, ["<p>One</p>"])
    await asyncio.sleep(0.3)
    watcher = hubs.watch()
    (first,) = await read_until(watcher, lambda frame: frame["type"] == "snapshot")
    assert first == {"type": "snapshot", "reply": "r", "seq": 1, "blocks": ["<p>One</p>"]}
    hubs.writer.publish_blocks("c", 1, ["<p>Two</p>"])
    (second,) = await read_until(watcher, lambda frame: frame["type"] == "blocks")
    assert second == {
        **{"type": "blocks", "reply": "r", "seq": 2, "from": 1, "keep": 0},
        "html": ["<p>Two</p>"],
    }


async def test_a_page_that_waits_has_every_block_when_the_reply_ends(hubs):
    watcher = hubs.watch()
    hubs.writer.begin_reply("c", "r")
    text = ""
    for number in range(60):
        text += f"ä😀{number} "
        hubs.writer.publish_blocks("c", number // 20, [text])
        if number % 20 == 19:
            text = ""
        await asyncio.sleep(0.005)
    hubs.writer.publish_blocks("c", 3, ["last"])
    frames = await read_until(
        watcher, lambda frame: "last" in (frame.get("html") or frame.get("blocks") or ())
    )
    assert [block.split()[-1] for block in show(frames)] == ["ä😀19", "ä😀39", "ä😀59", "last"]
    hubs.writer.end_reply("c", "r")
    assert (await read_until(watcher, lambda frame: frame["type"] == "done"))[-1]["reply"] == "r"


async def test_the_place_in_line_is_shown_and_in_the_snapshot(hubs):
    watcher = hubs.watch()
    hubs.writer.begin_reply("c", "r")
    await read_until(watcher, lambda frame: frame["type"] == "snapshot")
    hubs.writer.show_place("c", "r", 3)
    frames = await read_until(watcher, lambda frame: frame.get("before"))
    assert frames[-1]["before"] == 3
    assert hubs.reader.resend("c", watcher) == "r"
    again = await read_until(watcher, lambda frame: frame["type"] == "snapshot")
    assert again[-1]["before"] == 3


async def test_a_watcher_of_another_conversation_gets_nothing(hubs):
    other, watcher = hubs.watch("other"), hubs.watch()
    hubs.writer.begin_reply("c", "r")
    hubs.writer.publish_blocks("c", 0, ["<p>Private</p>"])
    hubs.writer.end_reply("c", "r")
    await read_until(watcher, lambda frame: frame["type"] == "done")
    assert other.frames.empty()


async def test_a_snapshot_can_be_asked_for_without_watching(hubs):
    hubs.writer.begin_reply("c", "r")
    hubs.writer.publish_blocks("c", 0, ["a", "b"])
    await asyncio.sleep(0.3)
    found = await asyncio.to_thread(hubs.reader.snapshot, "c")
    assert found is not None
    assert found["blocks"] == ["a", "b"]


async def test_the_next_reply_of_a_conversation_follows_on_the_first(hubs):
    watcher = hubs.watch()
    for reply in ("first", "second"):
        hubs.writer.begin_reply("c", reply)
        hubs.writer.publish_blocks("c", 0, [f"<p>{reply}</p>"])
        frames = await read_until(watcher, lambda frame: frame.get("html") or frame.get("blocks"))
        assert show(frames) == [f"<p>{reply}</p>"] or frames[-1]["reply"] == reply
        hubs.writer.end_reply("c", reply)
        await read_until(watcher, lambda frame: frame["type"] == "done")
    assert hubs.reader.resend("c", watcher) is None


async def test_texts_are_in_redis_while_a_reply_is_written_and_expire(redis, to_close):
    hub = make_shared(redis, to_close)
    hub.begin_reply("c", "r")
    hub.publish_blocks("c", 0, ["secret words"])
    await asyncio.sleep(0.3)
    with redis.connect() as client:
        keys = redis.find_text("secret words")
        assert len(keys) == 2
        assert all(0 < client.ttl(key) <= 60 for key in keys)
        hub.end_reply("c", "r")
        await asyncio.sleep(0.3)
        assert redis.find_text("secret words") == []
        hub.begin_reply("c", "again")
        hub.publish_blocks("c", 0, ["secret words"])
        await asyncio.sleep(0.3)
        hub.erase_texts(["c"])
        await asyncio.sleep(0.3)
        assert redis.find_text("secret words") == []


async def test_a_stream_keeps_a_bounded_number_of_frames(redis, to_close):
    hub = make_shared(redis, to_close)
    hub.begin_reply("long", "r")
    for number in range(1000):
        hub.publish_blocks("long", 0, ["x" * number])
        if number % 50 == 0:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)
    with redis.connect() as client:
        assert client.xlen("memoryapp:reply:long:frames") <= 200


async def test_a_reply_whose_process_died_ends_when_the_database_says_so(redis, to_close):
    writer, reader = make_shared(redis, to_close), make_shared(redis, to_close)
    reader.running = (("c", "r"),)
    writer.begin_reply("c", "r")
    await asyncio.sleep(0.3)
    watcher = Hubs(writer, reader).watch()
    await read_until(watcher, lambda frame: frame["type"] == "snapshot")
    await asyncio.sleep(1.5)
    waiting = [watcher.frames.get_nowait()["type"] for _ in range(watcher.frames.qsize())]
    assert "done" not in waiting
    reader.running = ()
    await read_until(watcher, lambda frame: frame["type"] == "done")


async def test_nobody_waits_for_a_redis_that_is_away_and_pages_of_the_process_see_the_reply():
    messages = MessageBus("redis://127.0.0.1:1/0")
    hub = HubWithoutDatabase(messages, "redis://127.0.0.1:1/0")
    watcher = Watcher(asyncio.get_running_loop())
    began = time.monotonic()
    hub.watch("c", watcher)
    hub.begin_reply("c", "r")
    for number in range(30):
        hub.publish_blocks("c", 0, [str(number)])
    hub.end_reply("c", "r")
    assert time.monotonic() - began < 0.5
    assert (await read_until(watcher, lambda frame: frame["type"] == "done"))[-1]["reply"] == "r"
    hub.close()
    messages.close()
