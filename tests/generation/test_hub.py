"""Everybody who watches a conversation sees its reply: what there is first, then each change, numbered."""

from __future__ import annotations

import asyncio

import pytest

from chat.generation.hub import QUEUE_LENGTH, Hub, Watcher

pytestmark = pytest.mark.asyncio


async def frame(watcher: Watcher) -> dict:
    return await asyncio.wait_for(watcher.frames.get(), 5)


async def seen(watcher: Watcher) -> list[dict]:
    """Return what waits for a watcher once everything handed over has arrived."""
    arrived = asyncio.Event()
    asyncio.get_running_loop().call_soon_threadsafe(arrived.set)
    await asyncio.wait_for(arrived.wait(), 5)
    return [watcher.frames.get_nowait() for _ in range(watcher.frames.qsize())]


def watching(hub: Hub, conversation: str = "c") -> Watcher:
    watcher = Watcher(asyncio.get_running_loop())
    hub.watch(conversation, watcher)
    return watcher


async def test_who_comes_in_the_middle_gets_a_snapshot_first_and_then_numbered_frames():
    hub = Hub()
    hub.open("c", "r")
    hub.publish("c", 0, ["<p>One</p>"])
    watcher = watching(hub)
    hub.publish("c", 1, ["<p>Two</p>"])
    assert await frame(watcher) == {"type": "snapshot", "reply": "r", "seq": 1, "blocks": ["<p>One</p>"]}
    assert await frame(watcher) == {
        "type": "blocks",
        "reply": "r",
        "seq": 2,
        "from": 1,
        "html": ["<p>Two</p>"],
    }


async def test_frames_are_numbered_without_a_gap_and_end_with_done():
    hub = Hub()
    watcher = watching(hub)
    hub.open("c", "r")
    for i in range(5):
        hub.publish("c", 0, [f"<p>{i}</p>"])
    hub.close("c", "r")
    frames = await seen(watcher)
    assert [f["type"] for f in frames] == ["snapshot", *["blocks"] * 5, "done"]
    assert [f["seq"] for f in frames[:-1]] == [0, 1, 2, 3, 4, 5]


async def test_a_snapshot_holds_what_the_frames_added_up_to():
    hub = Hub()
    hub.open("c", "r")
    hub.publish("c", 0, ["a", "b", "c"])
    hub.publish("c", 1, ["B"])
    assert hub.snapshot("c") == {"type": "snapshot", "reply": "r", "seq": 2, "blocks": ["a", "B"]}


async def test_a_watcher_of_another_conversation_sees_nothing():
    hub = Hub()
    stranger = watching(hub, "other")
    hub.open("c", "r")
    hub.publish("c", 0, ["<p>Private</p>"])
    hub.close("c", "r")
    assert await seen(stranger) == []


async def test_a_watcher_that_falls_behind_gets_a_snapshot_instead_of_a_backlog():
    hub = Hub()
    watcher = watching(hub)
    hub.open("c", "r")
    for i in range(10 * QUEUE_LENGTH):
        hub.publish("c", 0, [f"<p>{i}</p>"])
    frames = await seen(watcher)
    assert len(frames) <= QUEUE_LENGTH
    assert frames[0] == {"type": "behind"}
    assert frames[-1]["html"] == [f"<p>{10 * QUEUE_LENGTH - 1}</p>"]


async def test_a_watcher_that_falls_behind_still_learns_which_reply_has_ended():
    hub = Hub()
    watcher = watching(hub)
    hub.open("c", "first")
    hub.close("c", "first")
    hub.open("c", "second")
    for _ in range(2 * QUEUE_LENGTH):
        hub.publish("c", 0, ["<p></p>"])
    assert {"type": "done", "reply": "first"} in await seen(watcher)


async def test_the_late_end_of_one_reply_does_not_silence_the_next():
    hub = Hub()
    watcher = watching(hub)
    hub.open("c", "first")
    hub.open("c", "second")
    hub.close("c", "first")
    hub.publish("c", 0, ["<p>Still here</p>"])
    frames = await seen(watcher)
    assert frames[-1]["html"] == ["<p>Still here</p>"]
    assert frames[-1]["reply"] == "second"


async def test_who_no_longer_watches_gets_nothing():
    hub = Hub()
    watcher = watching(hub)
    hub.unwatch("c", watcher)
    hub.open("c", "r")
    assert await seen(watcher) == []


async def test_frames_published_from_other_threads_arrive_in_order():
    hub = Hub()
    watcher = watching(hub)
    hub.open("c", "r")

    def publish() -> None:
        for i in range(QUEUE_LENGTH - 2):
            hub.publish("c", 0, [str(i)])

    await asyncio.to_thread(publish)
    frames = await seen(watcher)
    assert [f["seq"] for f in frames] == list(range(QUEUE_LENGTH - 1))


async def test_a_watcher_whose_loop_is_gone_stops_nobody_else():
    hub = Hub()
    gone = asyncio.new_event_loop()
    hub.watch("c", Watcher(gone))
    gone.close()
    watcher = watching(hub)
    hub.open("c", "r")
    assert (await frame(watcher))["reply"] == "r"
