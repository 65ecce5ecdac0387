"""Backs up and restores the data of a machine in one file.

A zip archive with `memoryapp.sqlite3`, `secret_key` (stored hashes depend on it) and `manifest.json`. Weights
and cached prompts are not in it: both can be fetched or computed again. Where the data is encrypted, the
database in it is encrypted in the same way, and `encryption.key` is in it: the passphrase of that time opens
it.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import zipfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from chat.actions.leftovers import hold_working_folder
from memoryapp.base.encryption import process_keys
from memoryapp.base.env import unfinished_restore
from memoryapp.base.files import choose_stamp, give_second_name, sync
from memoryapp.base.passphrase import KEY_FILE, UNFINISHED, is_encrypted, is_plain, is_unfinished
from memoryapp.base.sqlcipher import DATABASE_ERRORS, connect, open_database

from .arguments import write_atomically
from .backup_file import (
    DATABASE,
    ENCRYPTED_VERSION,
    FORMAT,
    KEY,
    MANIFEST,
    VERSION,
    check_database,
    open_backup,
    unpack_database,
)
from .server_backups import copy_into_file

# Files that SQLite keeps beside a database; they are useless without it.
_BESIDE = ("-wal", "-shm")


def database_file() -> Path:
    """Return the path of the SQLite database. Raises CommandError for another database."""
    if connection.vendor != "sqlite":
        raise CommandError("This database is a server of its own, and not a file.")
    return Path(connection.settings_dict["NAME"])


def back_up(target: Path) -> None:
    """Write a backup readable by its owner only. Other processes can use the database meanwhile.

    Raises CommandError where it cannot be written; an existing file of that name stays then.
    """
    with write_atomically(target) as half, hold_working_folder(Path(settings.DATA_DIR)) as folder:
        copy = folder / DATABASE
        if connection.vendor == "sqlite":
            _copy(database_file(), copy)
        else:
            copy_into_file(copy)
        check_database(copy)
        with zipfile.ZipFile(half, "w", zipfile.ZIP_DEFLATED) as archive:
            made = datetime.now(UTC).isoformat(timespec="seconds")
            version = VERSION if is_plain(copy) else ENCRYPTED_VERSION
            about = {"format": FORMAT, "version": version, "made_at": made}
            archive.writestr(MANIFEST, json.dumps(about))
            archive.write(copy, DATABASE)
            # The key in effect, which is not that of the file where SECRET_KEY is set.
            archive.writestr(KEY, settings.SECRET_KEY)
            key_file = Path(settings.DATA_DIR) / KEY_FILE
            if version == ENCRYPTED_VERSION and key_file.exists():
                archive.write(key_file, key_file.name)


def restore(source: Path, now: datetime) -> list[Path]:
    """Replace this machine's data by a backup; return the files that hold the former data now.

    The caller holds the engine's lock, and calls `finish_restore` at the end. The backup is checked first:
    raises CommandError where it is damaged or of a newer version, and nothing is changed then. There is
    always a whole database: a process that is killed in between leaves a mark, and nothing starts until the
    restore has been repeated. What is encrypted here stays so, with the keys of here.
    """
    database = database_file()
    data = Path(settings.DATA_DIR)
    if is_unfinished(data, database):
        raise CommandError(UNFINISHED)
    with open_backup(source) as archive, hold_working_folder(data) as folder:
        unpacked = unpack_database(archive, folder)
        key = archive.read(KEY) if KEY in archive.namelist() else None
        connection.close()
        former = _put_former_aside(database, data / KEY if key is not None else None, now)
        remove_beside(database)
        unpacked.replace(database)
        if key is not None:
            fresh = data / f"{KEY}.new"
            fresh.touch(mode=0o600)
            fresh.write_bytes(key)
            sync(fresh)
            fresh.replace(data / KEY)
        sync(data)
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
        present = data / KEY if former.name.startswith(KEY) else database
        if former.exists() and present.exists() and former.samefile(present):
            # Nothing had been replaced yet. Renaming one name of a file to another one does nothing.
            former.unlink()
        elif former.exists():
            if present == database:
                remove_beside(database)
            former.replace(present)
            put_back.append(present)
    sync(data)
    finish_restore()
    return put_back


def remove_beside(database: Path) -> None:
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
    stamp = choose_stamp(database.parent, now)
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
        give_second_name(path, second)
    fresh = mark.with_name(f"{mark.name}.new")
    fresh.write_text(json.dumps([second.name for _, second in pairs]))
    sync(fresh)
    fresh.replace(mark)
    moved = [path.replace(second) for path, second in beside if path.exists()]
    sync(database.parent)
    return (moved[:1] if not aside.exists() else []) + [second for _, second in pairs]


def _checkpoint(database: Path) -> None:
    """Write all of a database into its one file, so that it needs no file beside it."""
    if not database.exists():
        return
    with contextlib.suppress(*DATABASE_ERRORS), closing(open_database(database)) as opened:
        opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        opened.execute("PRAGMA journal_mode=DELETE")


def _copy(source: Path, target: Path) -> None:
    if not source.exists():
        raise CommandError(f"There is nothing to back up: {source} is not there.")
    with closing(open_database(source)) as here, closing(_create_like(source, target)) as there:
        # In one step: a stepwise backup starts again at every write, and in WAL mode a reader blocks no
        # writer.
        here.backup(there)
        # Leave WAL mode, so that all data is in this one file.
        there.execute("PRAGMA journal_mode=DELETE")
    target.chmod(0o600)


def _create_like(source: Path, target: Path) -> Any:
    """Open a new database with the same key as another one."""
    if is_encrypted(Path(settings.DATA_DIR)) and not is_plain(source):
        return connect(target, process_keys().database)
    return sqlite3.connect(target)
