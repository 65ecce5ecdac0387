"""The lock of the engine: one process for each data folder may run it."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import IO

from django.core.management.base import CommandError

from memoryapp.base.env import RESTORE_BROKEN_OFF, engine_lock_path, unfinished_restore


class EngineTaken(CommandError):
    """Another process holds the engine's lock.

    `holder` is the server's address, or the name of the command.
    """

    def __init__(self, sentence: str, holder: str) -> None:
        super().__init__(sentence)
        self.holder = holder

    @property
    def is_server(self) -> bool:
        """Whether the holder is the server, which does all background work itself."""
        return self.holder.startswith("http")


def lock_engine(folder: Path, command: str) -> IO[str]:
    """Take the engine's lock without waiting; the operating system releases it when the process ends.

    Raises EngineTaken with a sentence that names the holder, and CommandError after a restore that was broken
    off.
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
    if command != "restore" and unfinished_restore(folder).exists():
        handle.close()
        raise CommandError(RESTORE_BROKEN_OFF)
    sign_lock(handle, f"{command}, process {os.getpid()}")
    return handle


def sign_lock(handle: IO[str], holder: str) -> None:
    """Write into the lock file who holds the lock."""
    handle.truncate(0)
    handle.write(holder)
    handle.flush()
