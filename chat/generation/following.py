"""A reply's text as it is written, for a door that lives in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from .hub import Watcher, hub
from .writing import Run


async def follow(run: Run, patience: float, returns: float = 0.0) -> AsyncIterator[str]:
    """Yield what is new of a reply until it is over, and "" when nothing came for `patience` seconds.

    Several may follow one reply. When the last one stops to listen it is stopped, for nobody is there to read
    it; whoever may come back within `returns` seconds is waited for.
    """
    loop = asyncio.get_running_loop()
    watcher = Watcher(loop)
    hub.watch(run.conversation, watcher)
    run.followers += 1
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
        run.followers -= 1
        run.partings += 1
        hub.unwatch(run.conversation, watcher)
        if returns:
            loop.call_later(returns, _stop_if_left, run, run.partings)
        else:
            _stop_if_left(run, run.partings)


def _stop_if_left(run: Run, parting: int) -> None:
    """Stop a reply that nobody follows and that nobody has followed since that parting."""
    if not run.over and not run.followers and run.partings == parting:
        run.left = True
        run.stop.set()
