"""What the model in this process uses by default, by the memory and the cores of the machine."""

from __future__ import annotations

import os

import psutil

_GIB = 1024**3


def default_window() -> int:
    """Return the window in tokens: 8,192, or 4,096 on machines with less than 7.5 GiB of memory."""
    return 8192 if psutil.virtual_memory().total >= 7.5 * _GIB else 4096


def default_threads() -> int:
    """Return the number of physical cores that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(psutil.cpu_count(logical=False) or allowed, allowed))
