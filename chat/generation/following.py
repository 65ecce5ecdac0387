"""Follows a reply as text, for programs, and stops it when nobody follows it any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from .hub import Watcher, hub
from .reply_run import ReplyRun


async def follow_reply(run: ReplyRun, interval: float, grace: float = 0.0) -> AsyncIterator[str]:
    """Yield the new text of a reply until the reply ends, and "" after `interval` seconds without new text.

    Several requests may follow one reply. When the last one goes away, the reply is stopped: at once, or
    after `grace` seconds in which the program may send its request again. Call it in an event loop.
    """
    loop = run.loop = asyncio.get_running_loop()
    watcher = Watcher(loop)
    hub.watch(run.conversation, watcher)
    run.followers += 1
    sent = 0
    try:
        while not run.is_over:
            # Of another process the frames have no text; the database has it.
            await run.refresh()
            try:
                # Not asyncio.wait_for: before Python 3.12 a frame that arrives together with the cancellation
                # makes it return the frame and drop the cancellation. The reply would never be stopped.
                async with asyncio.timeout(min(interval, run.refresh_seconds)):
                    await watcher.frames.get()
            except TimeoutError:
                yield ""
            text = run.text()
            if len(text) > sent:
                yield text[sent:]
                sent = len(text)
        if rest := run.text()[sent:]:
            yield rest
    finally:
        run.followers -= 1
        run.departures += 1
        hub.unwatch(run.conversation, watcher)
        if grace:
            loop.call_later(grace, stop_if_abandoned, run, run.departures)
        else:
            stop_if_abandoned(run, run.departures)


def expect_follower(run: ReplyRun, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
    """Stop the reply unless a request follows it within `seconds`; callable from any thread.

    A program may close its connection before its request reaches `follow_reply`, which then never runs.
    """
    run.loop = loop
    loop.call_soon_threadsafe(loop.call_later, seconds, stop_if_abandoned, run, run.departures)


def stop_if_abandoned(run: ReplyRun, departures: int) -> None:
    """Stop a reply that no request follows.

    Do nothing if one has followed it since `departures` was counted.
    """
    if not run.is_over and not run.followers and run.departures == departures:
        run.abandoned = True
        run.end_early()
