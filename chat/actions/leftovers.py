"""What killed processes and restores leave in the data folder, and how it is removed.

A start removes copies and uploads of processes that were killed, and cached prompts of the last process.
The former data that a restore has put aside is the user's, so it is removed on request only, and by "Delete
everything".
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from memoryapp.base.locking import try_lock

# Folders of working copies, by the beginning of their names. The lock in each tells whether a process lives.
WORKING = "working-"
_LOCK = "lock"
# Files that would have replaced others at the end. Those of `write_atomically` are locked by their process.
_LOCKED_UNFINISHED = "*.part"
_UNFINISHED = (
    *("secret_key.new", "provider.json.new", "known_servers.json.new", "restore-unfinished.new"),
    *("provider.json.age.new", "encryption.key.new"),
)
_UNFINISHED_SECONDS = 60
# Uploads between dry run and import, uploads that are being received (FILE_UPLOAD_TEMP_DIR), cached prompts.
_OF_THE_LAST_PROCESS = ("imports", "incoming", "parked")
# What a restore has put aside (the former database with the files beside it, and the former key), and the
# backups that the program has made before an update and before it moved dates.
_FORMER = (
    *("memoryapp-before-[0-9]*", "secret_key-before-[0-9]*"),
    *("before-update-[0-9]*.backup", "before-move-back-[0-9]*.backup", "before-restore-[0-9]*.backup"),
)


@contextmanager
def hold_working_folder(data: Path) -> Iterator[Path]:
    """Yield a private folder for copies, which is removed at the end, and at the next start after a kill."""
    with TemporaryDirectory(dir=data, prefix=WORKING) as name, try_lock(Path(name) / _LOCK):
        yield Path(name)


def find_leftovers(data: Path) -> list[Path]:
    """Return what killed processes have left; only files and folders that no living process uses."""
    found = [path for path in _find_working_folders(data) if _is_unlocked(path / _LOCK)]
    found += [path for path in data.glob(_LOCKED_UNFINISHED) if _is_unlocked(path)]
    before = time.time() - _UNFINISHED_SECONDS
    unfinished = [data / name for name in _UNFINISHED if (data / name).exists()]
    return found + [path for path in unfinished if path.stat().st_mtime < before]


def remove_leftovers(data: Path) -> list[Path]:
    """Remove what killed processes have left, and the files of the last server; return the former.

    The caller holds the engine's lock, so that there is no other server.
    """
    found = find_leftovers(data)
    of_the_last = [path for name in _OF_THE_LAST_PROCESS for path in (data / name).glob("*")]
    for path in [*found, *of_the_last]:
        _remove(path)
    return found


def find_former_data(data: Path) -> list[Path]:
    """Return the files that hold former data."""
    return sorted(path for pattern in _FORMER for path in data.glob(pattern) if path.is_file())


def remove_former_data(data: Path) -> list[Path]:
    """Remove the files that hold former data; return them."""
    found = find_former_data(data)
    for path in found:
        _remove(path)
    return found


def _find_working_folders(data: Path) -> list[Path]:
    # Before they had a name of their own, these folders had one of Python's, such as "tmpab12cd34".
    unnamed = [path for path in data.glob("tmp*") if (path / "memoryapp.sqlite3").exists()]
    return [path for path in [*data.glob(f"{WORKING}*"), *unnamed] if path.is_dir()]


def _is_unlocked(path: Path) -> bool:
    try:
        with try_lock(path) as free:
            return free
    except OSError:
        return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
