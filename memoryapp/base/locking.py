"""File locks between processes; the operating system releases them when a process ends.

Standard library only.
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_RETRY_SECONDS = 0.2


def _take(descriptor: int) -> bool:
    """Try to lock a file descriptor without waiting; return whether it worked."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Take the lock at `path` until the block ends where no process holds it; yield whether it was taken.

    It never waits.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        yield _take(file.fileno())


@contextlib.contextmanager
def hold_lock(path: Path, on_wait: Callable[[], None] | None = None) -> Iterator[int]:
    """Hold the lock at `path` until the block ends, waiting for it; `on_wait` is called once before the wait.

    Yields the file descriptor: a child process that inherits it keeps the lock when this process is killed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        said = False
        while not _take(file.fileno()):
            if on_wait and not said:
                on_wait()
            said = True
            time.sleep(_RETRY_SECONDS)
        yield file.fileno()


def read_lock_holder(path: Path) -> str:
    """Return what the process that holds the lock at `path` has written into it, "" where no process holds
    it.

    The content that a dead process left is ignored. Raises OSError where the file cannot be read.
    """
    if not path.exists():
        return ""
    with try_lock(path) as free:
        return "" if free else path.read_text().strip()
