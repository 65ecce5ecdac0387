"""`manage.py move`: copies everything into a PostgreSQL database, or from there into an SQLite file."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connection

from chat.management.moves import describe_next_steps, move, parse_target
from memoryapp.base.passphrase import is_encrypted


class Command(BaseCommand):
    """Move the data into another database."""

    help = (
        "Copy everything into another database, and compare both. Stop the server first. The present "
        "database does not change. Broken off, it goes on where it stopped when it is run again."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--to",
            required=True,
            metavar="URL",
            help="postgresql://user:password@host/name, an empty database; or sqlite:///path/of/a/data/folder",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        target = parse_target(options["to"])
        said = time.monotonic()

        def report(table: str, rows: int) -> None:
            nonlocal said
            if time.monotonic() - said > 1:
                said = time.monotonic()
                self.stdout.write(f"  {table}: {rows:,} rows")

        self.stdout.write(f"Copying into {target.shown}")
        rows = move(target, report)
        self.stdout.write(f"Moved: {rows:,} rows; every table has the same rows in both databases.")
        if target.folder is None and connection.vendor == "sqlite" and is_encrypted(Path(settings.DATA_DIR)):
            self.stdout.write(
                "The data in PostgreSQL is not encrypted by memoryapp; the passphrase protects files."
            )
        for line in describe_next_steps(target):
            self.stdout.write(line)
