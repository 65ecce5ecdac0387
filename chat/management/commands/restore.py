"""`manage.py restore`: replaces the data by a backup and keeps the old files."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils import timezone

from chat.management.backups import finish_restore, restore, restore_former
from chat.management.carry_over import CarriedOver, carry_over
from chat.management.engine_lock import lock_engine
from chat.management.server_backups import restore_into_server
from memoryapp.base.passphrase import BACKUP_PASSPHRASE_FD


class Command(BaseCommand):
    """Restore a backup of this or of another machine."""

    help = "Put a backup in the place of what is here; what is here is kept aside. Stop the server first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, nargs="?")
        parser.add_argument(
            "--back",
            action="store_true",
            help="after a restore that was broken off: back to what was there before",
        )

        parser.add_argument(
            "--backup-passphrase-fd",
            metavar="N",
            help="a descriptor with the passphrase of an encrypted backup, where it is not the one of here",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Raises EngineTaken while a server or another command runs, and keeps others out meanwhile.
        if options["back"]:
            with lock_engine(settings.DATA_DIR, "restore"):
                for path in restore_former():
                    self.stdout.write(f"Back again: {path}")
            return
        if options["backup_passphrase_fd"]:
            os.environ[BACKUP_PASSPHRASE_FD] = options["backup_passphrase_fd"]
        if options["file"] is None:
            raise CommandError("Name the backup.")
        with lock_engine(settings.DATA_DIR, "restore"):
            if connection.vendor == "sqlite":
                former, carried = _restore_file(options["file"])
            else:
                former, carried = restore_into_server(options["file"], timezone.localtime())
        for path in former:
            self.stdout.write(f"What was here is now {path}")
        if carried.forgotten:
            self.stdout.write(f"Forgotten since that backup, and not restored: {carried.forgotten} memories.")
        if carried.revoked:
            self.stdout.write(f"Tokens that stay revoked: {carried.revoked}.")
        self.stdout.write("Restored.")


def _restore_file(source: Path) -> tuple[list[Path], CarriedOver]:
    """Replace the SQLite file; return the former files and what was carried over."""
    former = restore(source, timezone.localtime())
    # An older backup has an older schema.
    call_command("migrate", verbosity=0)
    carried = carry_over(former)
    finish_restore()
    return former, carried
