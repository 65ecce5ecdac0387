"""`manage.py encrypt`: encrypts the data with a passphrase, or changes the passphrase."""

from __future__ import annotations

import getpass
import os
import sys
import zipfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chat.actions.leftovers import find_former_data
from chat.management.encryption import change_passphrase, encrypt_data
from chat.management.engine_lock import lock_engine
from memoryapp.base.encryption import process_keys
from memoryapp.base.passphrase import (
    KEY_FILE,
    PASSPHRASE_FD,
    is_encrypted,
    is_unfinished,
    normalize,
    read_descriptor,
)

_WARNING = (
    "Whoever forgets the passphrase loses everything: nobody can open the data without it. Write it down and "
    "keep it away from this machine."
)


class Command(BaseCommand):
    """Encrypt the database and the files beside it."""

    help = "Encrypt the data with a passphrase, which `start` then asks for. Stop the server first."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--new-passphrase", action="store_true", help="where the data is encrypted: change the passphrase"
        )
        parser.add_argument(
            "--new-passphrase-fd", metavar="N", help="the same, with the new one from a descriptor"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        data = Path(settings.DATA_DIR)
        encrypted = is_encrypted(data)
        with lock_engine(data, "encrypt"):
            if options["new_passphrase"] or options["new_passphrase_fd"]:
                if not encrypted:
                    raise CommandError("The data is not encrypted, so there is no passphrase to change.")
                process_keys()
                self.stderr.write(_WARNING)
                change_passphrase(_choose_passphrase(options["new_passphrase_fd"] or ""))
                self.stdout.write("Changed. Backups that were made before open with the former passphrase.")
                return
            if encrypted and not is_unfinished(data, Path(settings.DATABASES["default"]["NAME"])):
                # Also removes what a killed process has left.
                encrypt_data(lambda: "")
                self.stdout.write("The data is encrypted already. --new-passphrase changes the passphrase.")
                return
            self.stderr.write(_WARNING)
            encrypt_data(lambda: _choose_passphrase(None))
        self.stdout.write("Encrypted. The next start asks for the passphrase.")
        self.stdout.write(
            "Backups and exports that you made before are not encrypted, and a disk may keep traces of "
            "deleted files."
        )
        if former := [path for path in find_former_data(data) if _is_plain_backup(path)]:
            self.stdout.write("These files still hold unencrypted data:")
            for path in former:
                self.stdout.write(f"  {path}")
            self.stdout.write("`manage.py doctor --remove-former` removes them.")


def _is_plain_backup(path: Path) -> bool:
    if path.suffix != ".backup":
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return KEY_FILE not in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return True


def _choose_passphrase(descriptor: str | None) -> str:
    """Read a new passphrase from a descriptor, or ask twice in the terminal. Raises CommandError.

    Without the number of one, the descriptor is that of `--passphrase-fd`.
    """
    given = read_descriptor(PASSPHRASE_FD, os.environ if descriptor is None else {PASSPHRASE_FD: descriptor})
    if given is not None:
        return given
    if not sys.stdin.isatty():
        raise CommandError("Run this in a terminal, or give a passphrase: --passphrase-fd 3 3< FILE")
    chosen = getpass.getpass("New passphrase: ")
    if normalize(getpass.getpass("The same again: ")) != normalize(chosen):
        raise CommandError("The two passphrases differ, so nothing was changed.")
    return chosen
