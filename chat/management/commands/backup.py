"""`manage.py backup`: writes the database and its key to one file, also while the server runs."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from chat.management.backups import back_up
from memoryapp.base.files import choose_stamp


class Command(BaseCommand):
    """Write a backup of this machine's data."""

    help = "Write the database and its key into one file. It holds everything, so keep it safe."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, nargs="?", help="without it, a name with the date, right here")

    def handle(self, *args: Any, **options: Any) -> None:
        named: Path | None = options["file"]
        target = named or Path(f"memoryapp-{choose_stamp(Path(), timezone.localtime())}.backup")
        back_up(target)
        self.stdout.write(f"Written to {target} ({target.stat().st_size / 1e6:.1f} MB).")
