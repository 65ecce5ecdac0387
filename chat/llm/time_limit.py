"""Stops a model call that takes too long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from chat.errors import ModelTooSlow, Unfinished

from .types import StopFlag


@contextmanager
def limit_time(seconds: float, *, min_worked: float = 0.0) -> Iterator[StopFlag]:
    """Yield a flag for the calls in the block, which stops them after `seconds`.

    Raises ModelTooSlow in place of Unfinished where this limit stopped a call on which the model had worked
    for at least `min_worked` seconds. Unfinished remains where the call was stopped by something else, or
    where the model was busy with other calls.
    """
    stop = StopFlag()
    timer = threading.Timer(seconds, stop.set)
    timer.daemon = True
    timer.start()
    try:
        yield stop
    except Unfinished as stopped:
        if stop.is_set() and stopped.usage.worked_seconds >= min_worked:
            raise ModelTooSlow("model-slow") from stopped
        raise
    finally:
        timer.cancel()
