"""Each watcher of a conversation gets a snapshot of the running reply and then numbered frames."""

from __future__ import annotations

import asyncio

import pytest

from chat.generation.hub import QUEUE_LENGTH, Frame, Hub, Watcher

pytestmark = pytest.mark.asyncio


async def next_frame(watcher: Watcher) -> Frame:
    async with asyncio.timeout(5):
        return await watcher.frames.get()


async def all_frames(watcher: Watcher) -> list[Frame]:
    """Wait until all published frames have arrived, and return the watcher's queued frames."""
    arrived = asyncio.Event()
    asyncio.get_running_loop().call_soon_threadsafe(arrived.set)
    async with asyncio.timeout(5):
        await arrived.wait()
    return [watcher.frames.get_nowait() for _ in range(watcher.frames.qsize())]


def add_watcher(hub: Hub, conversation: str = "c") -> Watcher:
    watcher = Watcher(asyncio.get_running_loop())
    hub.watch(conversation, watcher)
    return watcher


async def test_a_late_watcher_gets_a_snapshot_and_then_numbered_frames():
    hub = Hub()
    hub.begin_reply("c", "r")
    hub.publish_blocks("c", 0, ["<p>One</p>"])
    watcher = add_watcher(hub)
    hub.publish_blocks("c", 1, ["<p>Two</p>"])
    assert await next_frame(watcher) == {"type": "snapshot", "reply": "r", "seq": 1, "blocks": ["<p>One</p>"]}
    assert await next_frame(watcher) == {
        "type": "blocks",
        "reply": "r",
        "seq": 2,
        "from": 1,
        "keep": 0,
        "html": ["<p>Two</p>"],
    }


async def test_frames_are_numbered_without_a_gap_and_end_with_done():
    hub = Hub()
    watcher = add_watcher(hub)
    hub.begin_reply("c", "r")
    for i in range(5):
        hub.publish_blocks("c", 0, [f"<p>{i}</p>"])
    hub.end_reply("c", "r")
    frames = await all_frames(watcher)
    assert [f["type"] for f in frames] == ["snapshot", *["blocks"] * 5, "done"]
    assert [f["seq"] for f in frames[:-1]] == [0, 1, 2, 3, 4, 5]


async def test_a_snapshot_contains_the_blocks_of_all_frames():
    hub = Hub()
    hub.begin_reply("c", "r")
    hub.publish_blocks("c", 0, ["a", "b", "c"])
    hub.publish_blocks("c", 1, ["B"])
    assert hub.snapshot("c") == {"type": "snapshot", "reply": "r", "seq": 2, "blocks": ["a", "B"]}


async def test_a_watcher_of_another_conversation_gets_nothing():
    hub = Hub()
    other_watcher = add_watcher(hub, "other")
    hub.begin_reply("c", "r")
    hub.publish_blocks("c", 0, ["<p>Private</p>"])
    hub.end_reply("c", "r")
    assert await all_frames(other_watcher) == []


async def test_a_watcher_that_falls_behind_gets_a_snapshot_instead_of_a_backlog():
    hub = Hub()
    watcher = add_watcher(hub)
    hub.begin_reply("c", "r")
    for i in range(10 * QUEUE_LENGTH):
        hub.publish_blocks("c", 0, [f"<p>{i}</p>"])
    frames = await all_frames(watcher)
    assert len(frames) <= QUEUE_LENGTH
    assert frames[0] == {"type": "behind"}
    # The page has the snapshot's first five characters, "<p>63".
    assert (frames[-1]["keep"], frames[-1]["html"]) == (5, ["9</p>"])


async def test_a_watcher_that_falls_behind_still_gets_done_frames():
    hub = Hub()
    watcher = add_watcher(hub)
    hub.begin_reply("c", "first")
    hub.end_reply("c", "first")
    hub.begin_reply("c", "second")
    for _ in range(2 * QUEUE_LENGTH):
        hub.publish_blocks("c", 0, ["<p></p>"])
    assert {"type": "done", "reply": "first"} in await all_frames(watcher)


async def test_ending_an_older_reply_does_not_end_the_current_one():
    hub = Hub()
    watcher = add_watcher(hub)
    hub.begin_reply("c", "first")
    hub.begin_reply("c", "second")
    hub.end_reply("c", "first")
    hub.publish_blocks("c", 0, ["<p>Still here</p>"])
    frames = await all_frames(watcher)
    assert frames[-1]["html"] == ["<p>Still here</p>"]
    assert frames[-1]["reply"] == "second"


async def test_a_removed_watcher_gets_nothing():
    hub = Hub()
    watcher = add_watcher(hub)
    hub.unwatch("c", watcher)
    hub.begin_reply("c", "r")
    assert await all_frames(watcher) == []


async def test_frames_published_from_other_threads_arrive_in_order():
    hub = Hub()
    watcher = add_watcher(hub)
    hub.begin_reply("c", "r")

    def publish() -> None:
        for i in range(QUEUE_LENGTH - 2):
            hub.publish_blocks("c", 0, [str(i)])

    await asyncio.to_thread(publish)
    frames = await all_frames(watcher)
    assert [f["seq"] for f in frames] == list(range(QUEUE_LENGTH - 1))


async def test_a_watcher_with_a_closed_loop_does_not_affect_others():
    hub = Hub()
    gone = asyncio.new_event_loop()
    hub.watch("c", Watcher(gone))
    gone.close()
    watcher = add_watcher(hub)
    hub.begin_reply("c", "r")
    assert (await next_frame(watcher))["reply"] == "r"
