"""`manage.py export_memory`: everything that is kept of an owner, into one file."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from chat.actions.export import export
from chat.actions.export_markdown import export_markdown
from chat.management.outputs import whole_file
from chat.management.people import owner_named

_FORMATS = {"json": export, "markdown": export_markdown}


class Command(BaseCommand):
    """Write an owner's chats and memories to a file, or to where it is piped."""

    help = (
        "Export chats, memories, apps and settings: as JSON, which can be imported, or Markdown, to be read."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--owner", default="", help="whose; on a machine with one owner, theirs")
        parser.add_argument("--format", choices=_FORMATS, default="json")
        parser.add_argument("--output", type=Path, help="the file to write; without it, standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        parts = _FORMATS[options["format"]](owner_named(options["owner"]))
        target: Path | None = options["output"]
        if target is None:
            try:
                for part in parts:
                    sys.stdout.buffer.write(part)
                sys.stdout.buffer.flush()
            except BrokenPipeError:
                # Whoever reads has enough; Python would try to flush once more at its end, and complain.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        with whole_file(target) as half, half.open("wb") as file:
            for part in parts:
                file.write(part)
        self.stderr.write(f"Written to {target}.")
