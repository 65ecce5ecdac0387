"""A reply is stopped when the last request that streams it is cancelled, at any moment."""

from __future__ import annotations

import asyncio

import pytest

from chat.generation.following import expect_follower, follow_reply
from chat.generation.hub import hub
from chat.generation.reply_run import ReplyRun


@pytest.fixture
def run() -> ReplyRun:
    """A running reply."""
    hub.begin_reply("conversation", "reply")
    return ReplyRun("reply", "conversation")


async def _read(run: ReplyRun, patience: float = 10.0, returns: float = 0.0) -> None:
    async for _ in follow_reply(run, patience, returns):
        pass


async def _run_until_waiting() -> None:
    """Let the event loop run until a newly created task waits for its first frame."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("turns", range(6))
def test_a_request_that_is_cancelled_together_with_a_frame_stops_the_reply(run: ReplyRun, turns: int) -> None:
    async def cancel_after_a_frame() -> None:
        reading = asyncio.create_task(_read(run))
        await _run_until_waiting()
        hub.publish_blocks(run.conversation, 0, ["<p>One</p>"])
        # The frame takes several loop iterations to reach the reader; cancel after each number of them.
        for _ in range(turns):
            await asyncio.sleep(0)
        reading.cancel()
        ended, _ = await asyncio.wait([reading], timeout=1)
        assert ended, "the cancellation was lost"

    asyncio.run(cancel_after_a_frame())
    assert run.stop.is_set()
    assert run.abandoned


def test_a_reply_goes_on_while_another_request_follows_it(run: ReplyRun) -> None:
    async def cancel_one_of_two() -> None:
        first, second = (asyncio.create_task(_read(run)) for _ in range(2))
        await _run_until_waiting()
        first.cancel()
        await asyncio.wait([first])
        assert not run.stop.is_set()
        second.cancel()
        await asyncio.wait([second])
        assert run.stop.is_set()

    asyncio.run(cancel_one_of_two())


def test_an_empty_piece_is_yielded_after_a_time_without_text(run: ReplyRun) -> None:
    async def first_piece() -> str:
        pieces = follow_reply(run, 0.01)
        return await anext(pieces)

    assert asyncio.run(first_piece()) == ""


def test_a_reply_that_no_request_follows_is_stopped(run: ReplyRun) -> None:
    async def wait_for_nobody() -> None:
        await asyncio.to_thread(expect_follower, run, asyncio.get_running_loop(), 0.01)
        await asyncio.sleep(0.1)

    asyncio.run(wait_for_nobody())
    assert run.stop.is_set()


@pytest.mark.parametrize("leaves", [False, True])
def test_a_request_that_follows_in_time_cancels_the_timeout(run: ReplyRun, leaves: bool) -> None:
    async def follow_in_time() -> None:
        expect_follower(run, asyncio.get_running_loop(), 0.05)
        reading = asyncio.create_task(_read(run, returns=60.0))
        await _run_until_waiting()
        if leaves:
            reading.cancel()
        await asyncio.sleep(0.15)
        assert not run.stop.is_set()
        reading.cancel()

    asyncio.run(follow_in_time())
