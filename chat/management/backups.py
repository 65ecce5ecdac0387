"""The whole data of a machine in one file and back: the database, and the key that its hashes were made with.

A zip archive with `memoryapp.sqlite3`, `secret_key` and `manifest.json`. Weights and parked prompts are not
in it: the first are fetched again, the others read again.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import zipfile
import zlib
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from .outputs import whole_file

_DATABASE, _KEY, _MANIFEST = "memoryapp.sqlite3", "secret_key", "manifest.json"
_FORMAT, _VERSION = "memoryapp-backup", 1
# What SQLite keeps beside a database; without the database they say nothing.
_BESIDE = ("-wal", "-shm")
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError)


def database_file() -> Path:
    """Return where the database lies; raises CommandError where it is no file."""
    if connection.vendor != "sqlite":
        raise CommandError("This database is a server of its own. Use its tools, such as pg_dump.")
    return Path(connection.settings_dict["NAME"])


def back_up(target: Path) -> None:
    """Write everything into one file for its owner's eyes, while others go on reading and writing.

    Raises CommandError where it cannot be written; an earlier file of that name stays then.
    """
    source = database_file()
    if not source.exists():
        raise CommandError(f"There is nothing to back up: {source} is not there.")
    with whole_file(target) as half, TemporaryDirectory(dir=settings.DATA_DIR) as folder:
        copy = Path(folder) / _DATABASE
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
    """Put a backup in the place of what is here, and return where that was moved to.

    The caller holds the engine's lock. All is checked first: raises CommandError where it is no whole backup,
    or one of a newer version, and nothing has changed then.
    """
    database = database_file()
    data = Path(settings.DATA_DIR)
    with _opened(source) as archive, TemporaryDirectory(dir=data) as folder:
        unpacked = Path(folder) / _DATABASE
        _unpack(archive, _DATABASE, unpacked)
        _check(unpacked)
        _check_version(unpacked)
        key = archive.read(_KEY) if _KEY in archive.namelist() else None
        connection.close()
        stamp = now.strftime("%Y%m%d-%H%M%S")
        aside = _put_aside(database, stamp)
        unpacked.replace(database)
        if key is not None:
            aside += _put_aside(data / _KEY, stamp)
            fresh = data / f"{_KEY}.new"
            fresh.touch(mode=0o600)
            fresh.write_bytes(key)
            fresh.replace(data / _KEY)
    # They hold prompts of the chats that were here.
    shutil.rmtree(data / "parked", ignore_errors=True)
    return aside


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as here, closing(sqlite3.connect(target)) as there:
        # In one step: between two it would begin anew whenever somebody wrote, and readers hold up no writer.
        here.backup(there)
        # In one file: what goes into the archive is this one alone.
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


def _opened(source: Path) -> zipfile.ZipFile:
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


def _put_aside(path: Path, stamp: str) -> list[Path]:
    """Move a file away with what lies beside it; that alone too, or the next file would go on with it."""
    aside = path.with_name(f"{path.stem}-before-{stamp}{path.suffix}")
    ends = [end for end in ("", *_BESIDE) if path.with_name(path.name + end).exists()]
    moved = [path.with_name(path.name + end).replace(aside.with_name(aside.name + end)) for end in ends]
    return moved[:1]
