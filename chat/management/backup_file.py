"""The file of a backup: a zip archive, its manifest, and the key of the database in it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
import zlib
from contextlib import closing
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.db.migrations.loader import MigrationLoader

from memoryapp.base.encryption import Keys, ask_and_open, open_key_file, process_keys
from memoryapp.base.files import remove_for_good
from memoryapp.base.passphrase import (
    BACKUP_PASSPHRASE_FD,
    KEY_FILE,
    WrongPassphrase,
    is_encrypted,
    read_descriptor,
)
from memoryapp.base.sqlcipher import DATABASE_ERRORS, connect, copy_with_key, open_database

DATABASE, KEY, MANIFEST = "memoryapp.sqlite3", "secret_key", "manifest.json"
# Version 2 is encrypted.
FORMAT, VERSION, ENCRYPTED_VERSION = "memoryapp-backup", 1, 2
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError)


def open_backup(source: Path) -> zipfile.ZipFile:
    """Open a backup. Raises CommandError for another file, a damaged one, and one of a newer version."""
    try:
        archive = zipfile.ZipFile(source)
        about = json.loads(archive.read(MANIFEST))
        readable = about["format"] == FORMAT and about["version"] <= ENCRYPTED_VERSION
    except OSError as error:
        raise CommandError(f"{source} cannot be read: {error.strerror or error}.") from error
    except (*_DAMAGE, KeyError, TypeError, ValueError) as error:
        raise CommandError(f"{source} is no backup of memoryapp, or it is damaged.") from error
    if not readable:
        archive.close()
        raise CommandError(f"{source} is no backup that this version of memoryapp can read.")
    return archive


def unpack(archive: zipfile.ZipFile, name: str, target: Path) -> None:
    """Write a file of a backup to `target`. Raises CommandError where it is damaged or the disk is full."""
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


def use_present_key(archive: zipfile.ZipFile, unpacked: Path) -> None:
    """Give an unpacked database the key of this installation. Raises CommandError, and WrongPassphrase."""
    here = is_encrypted(Path(settings.DATA_DIR))
    new_key = process_keys().database if here else ""
    if KEY_FILE in archive.namelist():
        if not here:
            raise CommandError(
                "This backup is encrypted, and the data here is not. Run `manage.py encrypt` first, then "
                "restore it again; nothing was changed."
            )
        if _opens(unpacked, new_key):
            return
        key = _open_keys_of_backup(archive.read(KEY_FILE)).database
    elif here:
        key = ""
    else:
        return
    if shutil.disk_usage(unpacked.parent).free < unpacked.stat().st_size:
        raise CommandError("There is not enough room on the disk.")
    converted = unpacked.with_name(f"converted-{unpacked.name}")
    try:
        with closing(connect(unpacked, key)) as opened:
            copy_with_key(opened, converted, new_key)
    except DATABASE_ERRORS as error:
        raise CommandError(f"The database in it is damaged: {error}.") from error
    remove_for_good(unpacked)
    converted.replace(unpacked)


def _opens(database: Path, key: str) -> bool:
    try:
        with closing(connect(database, key)) as opened:
            opened.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except DATABASE_ERRORS:
        return False
    return True


def _open_keys_of_backup(key_file: bytes) -> Keys:
    """Return the keys of a backup: those of here, or others, for which this asks in the terminal."""
    here = process_keys()
    try:
        return open_key_file(key_file, here.passphrase)
    except WrongPassphrase:
        if (given := read_descriptor(BACKUP_PASSPHRASE_FD)) is not None:
            return open_key_file(key_file, given)
        if not sys.stdin.isatty():
            raise CommandError(
                "The backup has another passphrase than the data here. Give it with --backup-passphrase-fd; "
                "nothing was changed."
            ) from None
        return ask_and_open(key_file, "Passphrase of the backup: ")


def unpack_database(archive: zipfile.ZipFile, folder: Path) -> Path:
    """Unpack the database of a backup into a folder, with the keys of this machine, and return its path.

    Raises CommandError where it is damaged or of a newer version.
    """
    unpacked = folder / DATABASE
    unpack(archive, DATABASE, unpacked)
    use_present_key(archive, unpacked)
    check_database(unpacked)
    check_version(unpacked)
    return unpacked


def check_database(database: Path) -> None:
    """Raise CommandError for a damaged database."""
    try:
        with closing(open_database(database)) as opened:
            found = opened.execute("PRAGMA integrity_check(1)").fetchone()[0]
            opened.execute("SELECT count(*) FROM chat_conversation").fetchone()
    except DATABASE_ERRORS as error:
        raise CommandError(f"The database in it is damaged: {error}.") from error
    if found != "ok":
        raise CommandError(f"The database in it is damaged: {found}.")


def check_version(database: Path) -> None:
    """Raise CommandError for a database of a newer version of this program."""
    known = MigrationLoader(None).disk_migrations or {}
    with closing(open_database(database)) as opened:
        applied = opened.execute("SELECT name FROM django_migrations WHERE app = 'chat'").fetchall()
    if newer := sorted(name for (name,) in applied if ("chat", name) not in known):
        raise CommandError(
            f"This backup is of a newer version of memoryapp ({newer[-1]}). Update this one first."
        )
