"""One engine a machine (design §3): who comes second is told who came first."""

from __future__ import annotations

import errno
import fcntl
from pathlib import Path
from typing import IO

from django.core.management.base import CommandError


def lock_engine(folder: Path) -> IO[str]:
    """Take the lock that one engine a machine holds; the system frees it when the process dies."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = (folder / "engine.lock").open("a+")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        handle.seek(0)
        raise CommandError(
            f"memoryapp is running already ({handle.read().strip() or 'another process'}). "
            "Use that one, or stop it first."
        ) from error
    return handle
