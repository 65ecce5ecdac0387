"""Encrypts and decrypts the data of a machine in place.

Each step can be repeated, so a process that is killed at any moment is continued by the same command. There
is a whole database at every moment: the new one is written beside it, checked, and renamed. The key file is
made first and removed last. The caller holds the engine's lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shutil import disk_usage
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connection

from chat.actions import leftovers
from memoryapp.base import encryption, passphrase, provider
from memoryapp.base.files import overwrite_nameless, sync
from memoryapp.base.sqlcipher import DATABASE_ERRORS, connect, copy_with_key

from .backups import database_file, remove_beside

# Times the size of a database: its copy, and what is written meanwhile.
_ROOM = 1.2
_IN_USE = "Another program uses the database. End it, then run this again."


def encrypt_data(choose_passphrase: Callable[[], str]) -> None:
    """Encrypt what is not encrypted yet.

    `choose_passphrase` is called where there are no keys yet. Nothing is changed and CommandError is raised
    where another program uses the database, where it or a former one is damaged, and where the disk is full.
    """
    data, database = Path(settings.DATA_DIR), database_file()
    if not passphrase.is_encrypted(data):
        # Checked first: with a key file, only this command goes on.
        for path in (database, *_find_former_databases(data)):
            _check_convertible(path)
        keys = encryption.make_keys(choose_passphrase())
        encryption.write_key_file(data, keys)
        encryption.use_keys(keys)
    keys = encryption.process_keys()
    leftovers.remove_leftovers(data)
    provider.encrypt_choice()
    for former in _find_former_databases(data):
        if passphrase.is_plain(former):
            _convert(former, "", keys.database)
    # Last: with keys and a plain database nothing starts, and this command goes on.
    if passphrase.is_plain(database):
        _convert(database, "", keys.database)


def decrypt_data() -> list[Path]:
    """Decrypt what is not decrypted yet, and remove the key file; return former databases that are damaged.

    Raises CommandError as `encrypt_data`.
    """
    data, database = Path(settings.DATA_DIR), database_file()
    keys = encryption.process_keys()
    leftovers.remove_leftovers(data)
    provider.decrypt_choice()
    if database.exists() and not passphrase.is_plain(database):
        _convert(database, keys.database, "")
    damaged = []
    for former in _find_former_databases(data):
        if not passphrase.is_plain(former):
            try:
                _convert(former, keys.database, "")
            except DATABASE_ERRORS:
                damaged.append(former)
    passphrase.key_file(data).unlink()
    sync(data)
    return damaged


def change_passphrase(new: str) -> None:
    """Encrypt the key file with another passphrase; the data and its keys stay as they are."""
    keys = encryption.process_keys()
    changed = encryption.Keys(encryption.check_passphrase(new), keys.database, keys.identity)
    encryption.write_key_file(Path(settings.DATA_DIR), changed)
    encryption.use_keys(changed)


def _check_convertible(database: Path) -> None:
    """Raise CommandError where a plain database is damaged, in use, or too large for the disk."""
    if not database.exists():
        return
    connection.close()
    if disk_usage(database.parent).free < _ROOM * database.stat().st_size:
        raise CommandError(f"There is not enough room on the disk for a second {database.name}.")
    if database == database_file() and not passphrase.is_plain(database):
        key_file = passphrase.key_file(database.parent)
        raise CommandError(
            f"{database.name} is damaged, or it is encrypted already and {key_file.name} is missing. A "
            f"backup of this data holds that file: unzip -p BACKUP {key_file.name} > {key_file}"
        )
    try:
        with closing(connect(database, "", timeout=1)) as opened:
            _take_alone(opened)
            found = opened.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except DATABASE_ERRORS as error:
        found = str(error)
    if found != "ok":
        raise CommandError(
            f"{database.name} cannot be read ({found}), so nothing was encrypted. "
            + (
                "Restore a backup first."
                if database == database_file()
                else "`manage.py doctor --remove-former` removes it."
            )
        )


def _take_alone(opened: Any) -> None:
    """Keep all others out of a database until its connection is closed, and empty its write-ahead log."""
    try:
        opened.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        # Only the last connection can leave WAL mode.
        if opened.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":
            raise CommandError(_IN_USE)
        opened.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        opened.execute("BEGIN EXCLUSIVE")
        opened.execute("COMMIT")
    except DATABASE_ERRORS as error:
        if "locked" in str(error):
            raise CommandError(_IN_USE) from error
        raise


def _find_former_databases(data: Path) -> list[Path]:
    """Return the databases that a restore has put aside. Without the keys they could not be opened again."""
    return [path for path in leftovers.find_former_data(data) if path.suffix == ".sqlite3"]


def _convert(database: Path, key: str, new_key: str) -> None:
    """Replace the database by a copy with another key, "" for none."""
    connection.close()
    with (
        leftovers.hold_working_folder(database.parent) as folder,
        closing(connect(database, key, timeout=1)) as opened,
    ):
        _take_alone(opened)
        copy = folder / database.name
        copy_with_key(opened, copy, new_key)
        _compare(opened, copy, new_key)
        sync(copy)
        remove_beside(database)
        replaced = os.open(database, os.O_RDWR)
        try:
            copy.replace(database)
            sync(database.parent)
            # Programs that have it still open find it damaged, so they write nothing that would be lost.
            overwrite_nameless(replaced)
        finally:
            os.close(replaced)


def _compare(opened: Any, copy: Path, key: str) -> None:
    """Raise CommandError where a copy is damaged, or has other tables or another number of rows."""
    with closing(connect(copy, key)) as copied:
        if copied.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok" or (
            key and copied.execute("PRAGMA cipher_integrity_check").fetchall()
        ):
            raise CommandError("The copy is damaged, so nothing was replaced. Is the disk well?")
        names = _list_tables(opened)
        if names != _list_tables(copied) or any(
            _count(opened, name) != _count(copied, name) for name in names
        ):
            raise CommandError("The copy differs from the database, so nothing was replaced.")


def _list_tables(opened: Any) -> list[str]:
    return [
        name
        for (name,) in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    ]


def _count(opened: Any, table: str) -> int:
    return int(opened.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])  # noqa: S608
