"""Waits for what another thread is about to bring about."""

from __future__ import annotations

import threading
from collections.abc import Callable

_tick = threading.Event()


def until(holds: Callable[[], object], seconds: float = 10.0) -> None:
    """Return as soon as `holds()` is true; fails when it is not within `seconds`."""
    for _ in range(int(seconds / 0.01)):
        if holds():
            return
        _tick.wait(0.01)
    raise AssertionError("what the test waits for did not come about")
