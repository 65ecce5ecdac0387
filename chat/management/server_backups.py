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

from chat.actions.leftovers import hold_working_folder
from chat.models import User
from memoryapp.base.files import write_private_file
from memoryapp.base.passphrase import is_encrypted

from .backup_file import DATABASE, KEY, check_database, check_version, open_backup, unpack, use_present_key
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


def restore_into_server(source: Path, now: datetime) -> tuple[Path | None, CarriedOver]:
    """Put a backup in the place of the PostgreSQL database.

    Returns the file of a backup of what was there, None where that was nothing, and what was carried over.

    One transaction: broken off, the database is as it was. The caller holds the engine's lock. Raises
    CommandError while a process uses the database, and where the backup is damaged, of a newer version, or
    made with another secret key.
    """
    from .backups import back_up

    data = Path(settings.DATA_DIR)
    call_command("migrate", verbosity=0)
    require_nobody()
    with open_backup(source) as archive, hold_working_folder(data) as folder:
        unpacked = folder / DATABASE
        unpack(archive, DATABASE, unpacked)
        use_present_key(archive, unpacked)
        check_database(unpacked)
        check_version(unpacked)
        is_empty = not User.objects.exists()
        _settle_key(archive, is_empty)
        former = None
        if not is_empty:
            former = data / f"before-restore-{now:%Y%m%d-%H%M%S}.backup"
            back_up(former)
        with second_database(_ALIAS, sqlite_settings(unpacked, encrypted=is_encrypted(data))):
            # An older backup has an older schema.
            migrate(_ALIAS)
            carried = _replace(former, folder)
    return former, carried


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
        return carry_over(files)


def _settle_key(archive: zipfile.ZipFile, is_empty: bool) -> None:
    """Take the backup's secret key where nothing here was made with another one. Raises CommandError."""
    key = archive.read(KEY).decode().strip() if KEY in archive.namelist() else ""
    if key in ("", settings.SECRET_KEY):
        return
    if is_empty and not os.environ.get("SECRET_KEY"):
        write_private_file(Path(settings.DATA_DIR) / KEY, key.encode())
        settings.SECRET_KEY = key
        return
    raise CommandError(
        "This backup was made with another secret key, with which all processes must run after it. Set "
        f"SECRET_KEY to the content of {KEY} in the backup, which is a zip file, and restore again. Nothing "
        "was changed."
    )
