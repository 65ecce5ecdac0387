"""Replies of two processes in one conversation: what one of them ends or writes leaves the other's alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from chat.generation.hub import Frame, Watcher
from tests.redis_server import RedisServer
from tests.waiting import wait_until

from .shared_hubs import HubWithoutDatabase, close_at_end, make_shared, read_until

pytestmark = pytest.mark.asyncio

Close = list[Callable[[], None]]
# For the threads that send.
_SENDING_SECONDS = 0.3


@pytest.fixture
def to_close(redis: RedisServer) -> Iterator[Close]:
    """What is called at the end of the test, before Redis is emptied."""
    with close_at_end(redis) as close:
        yield close


@pytest.fixture
def first(redis: RedisServer, to_close: Close) -> HubWithoutDatabase:
    return make_shared(redis, to_close)


@pytest.fixture
def second(redis: RedisServer, to_close: Close) -> HubWithoutDatabase:
    return make_shared(redis, to_close)


def watch(hub: HubWithoutDatabase) -> Watcher:
    watcher = Watcher(asyncio.get_running_loop())
    hub.watch("c", watcher)
    return watcher


async def begin_next(first: HubWithoutDatabase, second: HubWithoutDatabase) -> None:
    """Begin a reply in one process, and the next one in the other before the first has ended."""
    first.begin_reply("c", "old")
    first.publish_blocks("c", 0, ["old text"])
    await asyncio.sleep(_SENDING_SECONDS)
    second.begin_reply("c", "new")
    second.publish_blocks("c", 0, ["one", "two"])
    await asyncio.sleep(_SENDING_SECONDS)


def ends(reply: str) -> Callable[[Frame], bool]:
    return lambda frame: frame["type"] == "done" and frame["reply"] == reply


async def test_the_end_of_a_reply_leaves_the_next_one_to_later_readers(redis, to_close, first, second):
    await begin_next(first, second)
    first.end_reply("c", "old")
    await asyncio.sleep(_SENDING_SECONDS)
    second.publish_blocks("c", 2, ["three"])
    await asyncio.sleep(_SENDING_SECONDS)
    found = await asyncio.to_thread(make_shared(redis, to_close).snapshot, "c")
    assert found is not None
    assert (found["reply"], found["blocks"]) == ("new", ["one", "two", "three"])


async def test_a_reply_that_still_writes_changes_nothing_of_the_next_one(redis, to_close, first, second):
    await begin_next(first, second)
    first.publish_blocks("c", 0, ["old", "text", "with", "more", "blocks"])
    await asyncio.sleep(_SENDING_SECONDS)
    found = await asyncio.to_thread(make_shared(redis, to_close).snapshot, "c")
    assert found is not None
    assert (found["reply"], found["blocks"]) == ("new", ["one", "two"])


async def test_a_page_of_the_first_process_shows_the_next_reply_after_the_end_of_its_own(first, second):
    watcher = watch(first)
    await begin_next(first, second)
    first.end_reply("c", "old")
    frames = await read_until(watcher, lambda frame: "two" in frame.get("blocks", ()))
    assert frames[-1]["reply"] == "new"
    second.end_reply("c", "new")
    await read_until(watcher, ends("new"))


async def test_a_page_of_a_third_process_sees_the_end_of_both_replies(redis, to_close, first, second):
    watcher = watch(make_shared(redis, to_close))
    await begin_next(first, second)
    first.end_reply("c", "old")
    await read_until(watcher, ends("old"))
    second.publish_blocks("c", 2, ["three"])
    await read_until(watcher, lambda frame: frame.get("html") == ["three"])
    second.end_reply("c", "new")
    await read_until(watcher, ends("new"))
    assert redis.find_text("three") == []


async def test_a_conversation_that_was_erased_shows_no_reply_without_its_first_blocks(
    redis, to_close, first, second
):
    second.begin_reply("c", "new")
    second.publish_blocks("c", 0, ["one", "two"])
    await asyncio.sleep(_SENDING_SECONDS)
    first.erase_texts(["c"])
    await asyncio.sleep(_SENDING_SECONDS)
    second.publish_blocks("c", 2, ["three"])
    await asyncio.sleep(_SENDING_SECONDS)
    assert await asyncio.to_thread(make_shared(redis, to_close).snapshot, "c") is None


async def test_a_page_sees_the_end_of_a_reply_that_began_while_redis_was_away(redis, first):
    watcher = watch(first)
    await asyncio.sleep(_SENDING_SECONDS)
    redis.kill()
    try:
        first.running = (("c", "unnoticed"),)
        assert first.resend("c", watcher) is None
        first.expect("c", "unnoticed")
        await asyncio.sleep(_SENDING_SECONDS)
        first.running = ()
        await read_until(watcher, ends("unnoticed"))
    finally:
        redis.start()


async def test_a_page_sees_a_reply_whose_begin_was_lost(first, second):
    watcher = watch(first)
    await asyncio.sleep(_SENDING_SECONDS)
    first._bus.close()
    second.begin_reply("c", "new")
    second.publish_blocks("c", 0, ["one"])
    await asyncio.sleep(_SENDING_SECONDS)
    assert watcher.frames.empty()
    first.expect("c", "new")
    frames = await read_until(watcher, lambda frame: frame["type"] == "snapshot")
    assert frames[-1]["blocks"] == ["one"]


async def test_what_ended_or_was_deleted_while_redis_refused_writes_leaves_it_afterwards(redis, first):
    for conversation in ("ended", "refused", "deleted"):
        first.begin_reply(conversation, f"r-{conversation}")
        first.publish_blocks(conversation, 0, [f"text of {conversation}"])
    await asyncio.sleep(_SENDING_SECONDS)
    assert len(redis.find_text("text of")) == 6
    with redis.connect() as client:
        client.config_set("maxmemory", 1)
        try:
            first.end_reply("refused", "r-refused")
            await asyncio.to_thread(wait_until, lambda: first._bus.is_down)
            first.end_reply("ended", "r-ended")
            first.erase_texts(["deleted"])
            first._live.pop("deleted")
        finally:
            client.config_set("maxmemory", 0)
    await asyncio.to_thread(wait_until, lambda: not redis.find_text("text of"))
    assert not first._ended
    assert not first._erased
