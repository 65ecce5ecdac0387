"""Room on the disk, asked before and noticed while writing."""

import errno
import shutil
from pathlib import Path

from .errors import DiskFull

MARGIN_BYTES = 64 * 1024 * 1024
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


def free_bytes(folder: Path) -> int:
    """Free bytes on the disk of a folder that need not exist yet."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def require_room(folder: Path, needed: int) -> None:
    """Raises DiskFull when fewer than `needed` bytes and a margin are free."""
    free = free_bytes(folder)
    if free < needed + MARGIN_BYTES:
        raise DiskFull(folder, needed + MARGIN_BYTES, free)


def raise_if_full(error: OSError, folder: Path, needed: int) -> None:
    """Turns "no space left" and "over quota" into DiskFull; leaves other errors alone."""
    if error.errno in _FULL:
        raise DiskFull(folder, needed, free_bytes(folder)) from error
