"""Waits for a condition that another thread or process will make true."""

from __future__ import annotations

import threading
from collections.abc import Callable

_tick = threading.Event()


def wait_until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Call `condition` every 10 ms until it is true; raises AssertionError after about `seconds`."""
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        _tick.wait(0.01)
    raise AssertionError(f"the condition did not become true within {seconds} s")
