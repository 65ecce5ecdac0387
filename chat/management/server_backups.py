"""Backs up and restores a PostgreSQL database; the database in the backup is an SQLite file.

So a backup can be restored with either kind of database, and no program of PostgreSQL is needed.
"""

from __future__ import annotations

import os
import zipfile
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction

from chat.actions.installation import is_same_secret, require_same_secret
from chat.actions.leftovers import hold_working_folder
from chat.models import User
from memoryapp.base.files import choose_stamp, give_second_name, write_private_file
from memoryapp.base.passphrase import is_encrypted

from .backup_file import DATABASE, KEY, open_backup, unpack, unpack_database
from .carry_over import CarriedOver, carry_over
from .copying.copy import copy_everything
from .copying.databases import migrate, require_current_tables, second_database, snapshot, sqlite_settings
from .moves import require_nobody

_ALIAS = "backup"


def copy_into_file(file: Path) -> None:
    """Copy the PostgreSQL database into a new SQLite file, which is encrypted where the data here is.

    Others can use the database meanwhile: the file has its state of one moment. Raises CommandError.
    """
    require_current_tables(connection)
    database = sqlite_settings(file, encrypted=is_encrypted(Path(settings.DATA_DIR)))
    with second_database(_ALIAS, database) as copy:
        migrate(_ALIAS)
        with snapshot(connection):
            copy_everything(connection.alias, copy)


def restore_into_server(source: Path, now: datetime) -> tuple[list[Path], CarriedOver]:
    """Put a backup in the place of the PostgreSQL database.

    Returns the files that hold what was there, a backup and the key where these were replaced, and what was
    carried over.

    One transaction: broken off, the database is as it was. The backup's key is written after it: a process
    that is killed in between leaves a database that no process uses without that key, and the restore can be
    repeated. The caller holds the engine's lock. Raises CommandError while a process uses the database, and
    where the backup is damaged, of a newer version, or made with another secret key.
    """
    from .backups import back_up

    data = Path(settings.DATA_DIR)
    call_command("migrate", verbosity=0)
    require_nobody()
    with open_backup(source) as archive, hold_working_folder(data) as folder:
        unpacked = unpack_database(archive, folder)
        is_empty = not User.objects.exists()
        key_before = settings.SECRET_KEY
        _use_key_of_backup(archive, is_empty)
        former = None
        if not is_empty:
            former = data / f"before-restore-{choose_stamp(data, now)}.backup"
            back_up(former)
        with second_database(_ALIAS, sqlite_settings(unpacked, encrypted=is_encrypted(data))):
            # An older backup has an older schema.
            migrate(_ALIAS)
            carried = _replace(former, folder)
    files = [] if former is None else [former]
    if key_before != settings.SECRET_KEY:
        files += _store_key(data, now)
    return files, carried


def _replace(former: Path | None, folder: Path) -> CarriedOver:
    files = []
    if former is not None:
        # What was forgotten since the backup is read from the database in the backup of just now.
        with open_backup(former) as archive:
            files = [folder / f"former-{DATABASE}"]
            unpack(archive, DATABASE, files[0])
    with transaction.atomic():
        with connection.cursor() as cursor:
            # No process starts before the end.
            cursor.execute("LOCK TABLE chat_process IN SHARE ROW EXCLUSIVE MODE")
        require_nobody()
        copy_everything(_ALIAS, connection)
        if is_same_secret():
            # An older backup has no fingerprint of its key, and a process with another key could start.
            require_same_secret()
        return carry_over(files)


def _use_key_of_backup(archive: zipfile.ZipFile, is_empty: bool) -> None:
    """Let this process use the backup's secret key where nothing in the database was made with another one.

    Also where the database was made with it: an earlier restore was killed before it wrote the key. Raises
    CommandError.
    """
    key = archive.read(KEY).decode() if KEY in archive.namelist() else ""
    former = settings.SECRET_KEY
    if not key.strip() or key == former:
        return
    if not os.environ.get("SECRET_KEY"):
        is_former = is_same_secret()
        settings.SECRET_KEY = key
        if is_empty or (is_same_secret() and not is_former):
            return
        settings.SECRET_KEY = former
    raise CommandError(
        "This backup was made with another secret key, with which all processes must run after it. Set "
        f"SECRET_KEY to the content of {KEY} in the backup, which is a zip file, and restore again. Nothing "
        "was changed."
    )


def _store_key(data: Path, now: datetime) -> list[Path]:
    """Write the key of this process into the data folder; return the file that has the former one."""
    file, aside = data / KEY, data / f"{KEY}-before-{choose_stamp(data, now)}"
    kept = [aside] if file.exists() else []
    for second in kept:
        give_second_name(file, second)
    write_private_file(file, settings.SECRET_KEY.encode())
    return kept
