"""Registers the handlers of job kinds, and the rules of when each kind runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.utils import timezone

from chat.actions import energy


class Postpone(Exception):
    """Raised by a handler that cannot run now: the job runs again at `until` (aware wall clock).

    It does not count as a failure.
    """

    def __init__(self, until: datetime) -> None:
        super().__init__(f"postponed until {until.isoformat()}")
        self.until = until


Handler = Callable[[dict[str, Any]], None]
HANDLERS: dict[str, Handler] = {}
# Kinds that never call a model: their thread is never blocked by a model call, so deadlines are met.
QUICK: set[str] = set()
# Kinds that may use the model for a minute: they have a thread of their own, so that extraction does not wait
# for them.
SLOW: set[str] = set()
# Kinds that need a loaded model.
MODEL: set[str] = set()


# Kinds that repeat, with the function that returns their next time. Their dedupe key is their kind.
PERIODIC: dict[str, Callable[[datetime], datetime]] = {}


def handles(
    kind: str,
    *,
    quick: bool = False,
    slow: bool = False,
    model: bool = True,
    again: Callable[[datetime], datetime] | None = None,
) -> Callable[[Handler], Handler]:
    """Register a function as the handler of a kind of job.

    `quick`: it never calls a model and runs in a thread of its own. `slow`: it may take a minute.
    `model=False`: it can run before a model is loaded. `again`: the kind is periodic; given the time of the
    last run it returns the time of the next.
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


def wait_for_energy(owner_id: int, unless: Callable[[], bool] = lambda: False) -> None:
    """Raise Postpone while the owner's energy is low. Call it right before a call in the background lane.

    `unless` is called only when energy is low; where it returns True, a user waits for the work and it runs
    anyway.
    """
    until = energy.find_low_until(timezone.now(), owner_id)
    if until is not None and not unless():
        raise Postpone(until)
