"""A lock between processes: whoever dies lets go of it. Standard library only."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_RETRY_SECONDS = 0.2


def _take(descriptor: int) -> bool:
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
def locked_if_free(path: Path) -> Iterator[bool]:
    """Holds the lock at `path` where nobody else does; yields whether we have it, without waiting."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        yield _take(file.fileno())


@contextlib.contextmanager
def locked(path: Path, on_wait: Callable[[], None] | None = None) -> Iterator[int]:
    """Holds the lock at `path`, waiting for it; `on_wait` is called once when it must wait.

    Yields the file's descriptor: a child process that inherits it keeps the lock should we be killed.
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


def holder(path: Path) -> str:
    """What the process that holds the lock at `path` has written into it, "" where none does.

    What a dead process wrote says nothing. Raises OSError where the file may not be read.
    """
    if not path.exists():
        return ""
    with locked_if_free(path) as free:
        return "" if free else path.read_text().strip()
