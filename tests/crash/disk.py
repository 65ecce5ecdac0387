"""A small disk of its own for a data folder, which can be filled."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

_SIZE_MIB = 96
_CHUNK = b"\0" * 65536


@contextlib.contextmanager
def open_disk(folder: Path) -> Iterator[bool]:
    """Mount a disk in memory at a folder until the block ends; yields False where this is not allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE_MIB}m,mode=700", "tmpfs", str(folder)]
    try:
        mounted = os.geteuid() == 0 and not subprocess.run(command, capture_output=True).returncode
    except OSError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextlib.contextmanager
def fill_disk(folder: Path, left: int) -> Iterator[None]:
    """Fill the disk of a folder but for some bytes, until the block ends."""
    ballast = folder / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(_CHUNK)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
            file.truncate(max(0, file.tell() - left))
        yield
    finally:
        ballast.unlink()
