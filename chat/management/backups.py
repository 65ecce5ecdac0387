"""Backs up and restores the data of a machine in one file.

A zip archive with `memoryapp.sqlite3`, `secret_key` (stored hashes depend on it) and `manifest.json`. Weights
and cached prompts are not in it: both can be fetched or computed again.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import sqlite3
import zipfile
import zlib
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from chat.actions.leftovers import hold_working_folder
from memoryapp.base.env import unfinished_restore

from .arguments import write_atomically

_DATABASE, _KEY, _MANIFEST = "memoryapp.sqlite3", "secret_key", "manifest.json"
_FORMAT, _VERSION = "memoryapp-backup", 1
# Files that SQLite keeps beside a database; they are useless without it.
_BESIDE = ("-wal", "-shm")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError)


def database_file() -> Path:
    """Return the path of the SQLite database. Raises CommandError for another database."""
    if connection.vendor != "sqlite":
        raise CommandError("This database is a server of its own. Use its tools, such as pg_dump.")
    return Path(connection.settings_dict["NAME"])


def back_up(target: Path) -> None:
    """Write a backup readable by its owner only. Other processes can use the database meanwhile.

    Raises CommandError where it cannot be written; an existing file of that name stays then.
    """
    source = database_file()
    if not source.exists():
        raise CommandError(f"There is nothing to back up: {source} is not there.")
    with write_atomically(target) as half, hold_working_folder(Path(settings.DATA_DIR)) as folder:
        copy = folder / _DATABASE
        _copy(source, copy)
        _check(copy)
        with zipfile.ZipFile(half, "w", zipfile.ZIP_DEFLATED) as archive:
            made = datetime.now(UTC).isoformat(timespec="seconds")
            about = {"format": _FORMAT, "version": _VERSION, "made_at": made}
            archive.writestr(_MANIFEST, json.dumps(about))
            archive.write(copy, _DATABASE)
            if (key := Path(settings.DATA_DIR) / _KEY).exists():
                archive.write(key, _KEY)


def restore(source: Path, now: datetime) -> list[Path]:
    """Replace this machine's data by a backup; return the files that hold the former data now.

    The caller holds the engine's lock, and calls `finish_restore` at the end. The backup is checked first:
    raises CommandError where it is damaged or of a newer version, and nothing is changed then. There is
    always a whole database: a process that is killed in between leaves a mark, and nothing starts until the
    restore has been repeated.
    """
    database = database_file()
    data = Path(settings.DATA_DIR)
    with _open_backup(source) as archive, hold_working_folder(data) as folder:
        unpacked = folder / _DATABASE
        _unpack(archive, _DATABASE, unpacked)
        _check(unpacked)
        _check_version(unpacked)
        key = archive.read(_KEY) if _KEY in archive.namelist() else None
        connection.close()
        former = _put_former_aside(database, data / _KEY if key is not None else None, now)
        _remove_beside(database)
        unpacked.replace(database)
        if key is not None:
            fresh = data / f"{_KEY}.new"
            fresh.touch(mode=0o600)
            fresh.write_bytes(key)
            _sync(fresh)
            fresh.replace(data / _KEY)
        _sync(data)
    # They contain prompts of the replaced conversations.
    shutil.rmtree(data / "parked", ignore_errors=True)
    return former


def restore_former() -> list[Path]:
    """Bring back what was there before a restore that was broken off; return the files that were put back.

    The caller holds the engine's lock. Raises CommandError where no restore was broken off.
    """
    database = database_file()
    data = Path(settings.DATA_DIR)
    mark = unfinished_restore(data)
    if not mark.exists():
        raise CommandError("No restore was broken off.")
    connection.close()
    put_back = []
    for former in _read_mark(mark):
        present = data / _KEY if former.name.startswith(_KEY) else database
        if former.exists():
            if present == database:
                _remove_beside(database)
            former.replace(present)
            put_back.append(present)
    _sync(data)
    finish_restore()
    return put_back


def _remove_beside(database: Path) -> None:
    """Remove the log of the database that is replaced: SQLite would apply it to the new one."""
    for end in (*_BESIDE, "-journal"):
        database.with_name(database.name + end).unlink(missing_ok=True)


def _read_mark(mark: Path) -> list[Path]:
    return [mark.with_name(name) for name in json.loads(mark.read_text())]


def finish_restore() -> None:
    """Remove the mark of an unfinished restore, which keeps the program from starting."""
    unfinished_restore(Path(settings.DATA_DIR)).unlink(missing_ok=True)


def _put_former_aside(database: Path, key: Path | None, now: datetime) -> list[Path]:
    """Give the former files a second name, which they keep when they are replaced; return these names."""
    mark = unfinished_restore(database.parent)
    if mark.exists():
        # An earlier restore was broken off: what is here may be a part of it, and the former data is aside.
        return _read_mark(mark)
    stamp = _choose_stamp(database, now)
    _checkpoint(database)
    pairs = [
        (path, path.with_name(f"{path.stem}-before-{stamp}{path.suffix}"))
        for path in (database, key)
        if path is not None and path.exists()
    ]
    # After a checkpoint there are none, unless the database is damaged. The new one must not find them.
    aside = database.with_name(f"{database.stem}-before-{stamp}{database.suffix}")
    beside = [(database.with_name(database.name + end), aside.with_name(aside.name + end)) for end in _BESIDE]
    for path, second in pairs:
        _link(path, second)
    fresh = mark.with_name(f"{mark.name}.new")
    fresh.write_text(json.dumps([second.name for _, second in pairs]))
    _sync(fresh)
    fresh.replace(mark)
    moved = [path.replace(second) for path, second in beside if path.exists()]
    _sync(database.parent)
    return (moved[:1] if not aside.exists() else []) + [second for _, second in pairs]


def _choose_stamp(database: Path, now: datetime) -> str:
    """Return the part of the second names that tells this restore from others, also of the same second."""
    stamp = now.strftime("%Y%m%d-%H%M%S")
    taken = {path.name for path in database.parent.glob(f"*-before-{stamp}*")}
    numbers = (f"{stamp}-{n}" if n else stamp for n in itertools.count())
    return next(s for s in numbers if not any(f"-before-{s}" in name for name in taken))


def _checkpoint(database: Path) -> None:
    """Write all of a database into its one file, so that it needs no file beside it."""
    if not database.exists():
        return
    with contextlib.suppress(sqlite3.Error), closing(sqlite3.connect(database)) as opened:
        opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        opened.execute("PRAGMA journal_mode=DELETE")


def _link(path: Path, second: Path) -> None:
    try:
        os.link(path, second)
    except OSError:
        # A file system without hard links.
        second.touch(mode=0o600)
        shutil.copyfile(path, second)
        _sync(second)


def _sync(path: Path) -> None:
    """Write a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as here, closing(sqlite3.connect(target)) as there:
        # In one step: a stepwise backup starts again at every write, and in WAL mode a reader blocks no
        # writer.
        here.backup(there)
        # Leave WAL mode, so that all data is in this one file.
        there.execute("PRAGMA journal_mode=DELETE")
    target.chmod(0o600)


def _check(database: Path) -> None:
    try:
        with closing(sqlite3.connect(database)) as opened:
            found = opened.execute("PRAGMA integrity_check(1)").fetchone()[0]
            opened.execute("SELECT count(*) FROM chat_conversation").fetchone()
    except sqlite3.DatabaseError as error:
        raise CommandError(f"The database in it is damaged: {error}.") from error
    if found != "ok":
        raise CommandError(f"The database in it is damaged: {found}.")


def _check_version(database: Path) -> None:
    known = MigrationLoader(None).disk_migrations or {}
    with closing(sqlite3.connect(database)) as opened:
        applied = opened.execute("SELECT name FROM django_migrations WHERE app = 'chat'").fetchall()
    if newer := sorted(name for (name,) in applied if ("chat", name) not in known):
        raise CommandError(
            f"This backup is of a newer version of memoryapp ({newer[-1]}). Update this one first."
        )


def _open_backup(source: Path) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(source)
        about = json.loads(archive.read(_MANIFEST))
        readable = about["format"] == _FORMAT and about["version"] <= _VERSION
    except OSError as error:
        raise CommandError(f"{source} cannot be read: {error.strerror or error}.") from error
    except (*_DAMAGE, KeyError, TypeError, ValueError) as error:
        raise CommandError(f"{source} is no backup of memoryapp, or it is damaged.") from error
    if not readable:
        archive.close()
        raise CommandError(f"{source} is no backup that this version of memoryapp can read.")
    return archive


def _unpack(archive: zipfile.ZipFile, name: str, target: Path) -> None:
    target.touch(mode=0o600)
    try:
        if shutil.disk_usage(target.parent).free < archive.getinfo(name).file_size:
            raise CommandError("There is not enough room on the disk.")
        with archive.open(name) as packed, target.open("wb") as file:
            shutil.copyfileobj(packed, file)
            file.flush()
            os.fsync(file.fileno())
    except (*_DAMAGE, KeyError) as error:
        raise CommandError("This backup is damaged.") from error
