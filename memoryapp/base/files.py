"""Writing to the disk. Standard library only."""

import contextlib
import itertools
import os
import shutil
import sys
from datetime import datetime
from pathlib import Path

_BLOCK = 1 << 20


def sync(path: Path) -> None:
    """Write a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if sys.platform == "darwin":
            import fcntl

            # There fsync leaves the data in the cache of the disk.
            with contextlib.suppress(OSError):
                fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
                return
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_private_file(path: Path, content: bytes) -> None:
    """Replace a file, or make it, at once or not at all; only its owner can read it."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    sync(fresh)
    fresh.replace(path)
    sync(path.parent)


def choose_stamp(folder: Path, now: datetime) -> str:
    """Return a part for names of new files that tells this moment from others, also of the same second."""
    stamp = now.strftime("%Y%m%d-%H%M%S")
    taken = [path.name for path in folder.glob(f"*{stamp}*")]
    numbered = (f"{stamp}-{n}" if n else stamp for n in itertools.count())
    return next(one for one in numbered if not any(one in name for name in taken))


def give_second_name(path: Path, second: Path) -> None:
    """Give a file a second name, which it keeps when it is replaced under the first one."""
    try:
        os.link(path, second)
    except OSError:
        # A file system without hard links.
        second.touch(mode=0o600)
        shutil.copyfile(path, second)
        sync(second)


def overwrite_nameless(descriptor: int) -> None:
    """Overwrite the content of an open file that has no name any more, so that the disk does not keep it.

    Does nothing where the file has another name. A disk may still keep what is overwritten.
    """
    about = os.fstat(descriptor)
    if about.st_nlink:
        return
    os.lseek(descriptor, 0, os.SEEK_SET)
    for _ in range(0, about.st_size, _BLOCK):
        os.write(descriptor, bytes(_BLOCK))
    os.fsync(descriptor)


def remove_for_good(path: Path) -> None:
    """Remove a file, and overwrite its content."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        path.unlink()
        overwrite_nameless(descriptor)
    finally:
        os.close(descriptor)
