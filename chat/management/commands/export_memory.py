"""`manage.py export_memory`: writes all data of an owner to one file."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from chat.actions.export import export_json
from chat.actions.export_encryption import encrypt_export
from chat.actions.export_markdown import export_markdown
from chat.management.arguments import find_owner, write_atomically
from memoryapp.base.passphrase import is_encrypted

_FORMATS = {"json": export_json, "markdown": export_markdown}


class Command(BaseCommand):
    """Write an owner's conversations and memories to a file or to standard output."""

    help = (
        "Export chats, memories, apps and settings: as JSON, which can be imported, or Markdown, to be read."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--owner", default="", help="whose; on a machine with one owner, theirs")
        parser.add_argument("--format", choices=_FORMATS, default="json")
        parser.add_argument(
            "--plain",
            action="store_true",
            help="where the data is encrypted: do not encrypt the file (otherwise `age -d` opens it)",
        )
        parser.add_argument("--output", type=Path, help="the file to write; without it, standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        parts = _FORMATS[options["format"]](find_owner(options["owner"]))
        if is_encrypted(Path(settings.DATA_DIR)) and not options["plain"]:
            parts = encrypt_export(parts)
        target: Path | None = options["output"]
        if target is None:
            try:
                for part in parts:
                    sys.stdout.buffer.write(part)
                sys.stdout.buffer.flush()
            except BrokenPipeError:
                # The reader closed the pipe. Python flushes standard output again at its end, which would
                # print an error.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        with write_atomically(target) as half, half.open("wb") as file:
            for part in parts:
                file.write(part)
        self.stderr.write(f"Written to {target}.")
