"""Kinds of work and who does them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any


class Postpone(Exception):
    """The job cannot begin yet: run it again at `until`; that is no failure."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"postponed until {until.isoformat()}")
        self.until = until


Handler = Callable[[dict[str, Any]], None]
HANDLERS: dict[str, Handler] = {}
# Work that may take a model's time has a thread of its own, so that a deadline never waits for it.
QUICK: set[str] = set()
# Work that may take it for a minute has another, so that a look at a message does not wait for it.
SLOW: set[str] = set()
# Work that does not begin before the model is there.
MODEL: set[str] = set()


# When work that comes again and again is next due; its rows have their kind as key.
PERIODIC: dict[str, Callable[[datetime], datetime]] = {}


def handles(
    kind: str,
    *,
    quick: bool = False,
    slow: bool = False,
    model: bool = True,
    again: Callable[[datetime], datetime] | None = None,
) -> Callable[[Handler], Handler]:
    """Register a function as the handler of a kind of job; `quick` ones never call a model.

    Others wait until it is there, unless they say with `model` that they do not need it. With `again` the
    work is periodic: it says when it is due next, given when it was done.
    """

    def register(handler: Handler) -> Handler:
        HANDLERS[kind] = handler
        if quick:
            QUICK.add(kind)
        if slow:
            SLOW.add(kind)
        if model and not quick:
            MODEL.add(kind)
        if again is not None:
            PERIODIC[kind] = again
        return handler

    return register
