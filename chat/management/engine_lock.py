"""One engine a machine (design §3): who comes second is told who came first."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import IO

from django.core.management.base import CommandError

from memoryapp.env import engine_lock_path


class EngineTaken(CommandError):
    """Another process has the engine; `holder` is the server's address, or which command it is."""

    def __init__(self, sentence: str, holder: str) -> None:
        super().__init__(sentence)
        self.holder = holder

    @property
    def is_server(self) -> bool:
        """Whether it is the server, which does everything that others could want to do."""
        return self.holder.startswith("http")


def lock_engine(folder: Path, command: str) -> IO[str]:
    """Take the lock that one engine a machine holds; the system frees it when the process dies.

    Raises EngineTaken with a sentence that says who has it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = engine_lock_path(folder).open("a+")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        handle.seek(0)
        holder = handle.read().strip() or "another process"
        handle.close()
        raise EngineTaken(
            f"memoryapp is running already ({holder}). Use that one, or stop it first.", holder
        ) from error
    sign(handle, f"{command}, process {os.getpid()}")
    return handle


def sign(handle: IO[str], holder: str) -> None:
    """Write into the lock who holds it."""
    handle.truncate(0)
    handle.write(holder)
    handle.flush()
