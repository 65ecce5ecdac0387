"""A reply's text as it is written, for a door that lives in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from .hub import Watcher, hub
from .run import Run


async def follow(run: Run, patience: float) -> AsyncIterator[str]:
    """Yield what is new of a reply until it is over, and "" when nothing came for `patience` seconds.

    Who stops to listen stops the reply: nobody is there to read it.
    """
    watcher = Watcher(asyncio.get_running_loop())
    hub.watch(run.conversation, watcher)
    sent = 0
    try:
        while not run.over:
            try:
                await asyncio.wait_for(watcher.frames.get(), patience)
            except TimeoutError:
                yield ""
            text = run.text()
            if len(text) > sent:
                yield text[sent:]
                sent = len(text)
        if rest := run.text()[sent:]:
            yield rest
    finally:
        if not run.over:
            run.stop.set()
        hub.unwatch(run.conversation, watcher)
