"""`manage.py import_memory`: imports a file of this program, ChatGPT, Claude or mem0."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from chat.actions import importing
from chat.actions.importing import ImportOptions
from chat.actions.importing.report import describe_source, list_report_rows
from chat.error_messages import describe
from chat.errors import BadFile, Refused
from chat.management.arguments import find_owner
from chat.text import format_as_one_line, strip_terminal_controls

# Refused items that are listed.
_MOST_REFUSALS = 50


class Command(BaseCommand):
    """Import a file, or report what an import would do."""

    help = (
        "Import chats and memories: an export of memoryapp, of ChatGPT or Claude (also the zip), or of mem0."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--owner", default="", help="into whose memory; on a machine with one owner, theirs"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would happen, and change nothing"
        )
        parser.add_argument("--learn", action="store_true", help="have memory read the chats that come in")
        parser.add_argument("--forgotten", action="store_true", help="bring back what was forgotten here too")
        parser.add_argument(
            "--person", default="", help="whose memories, where the file has several people's"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        owner = find_owner(options["owner"])
        chosen = ImportOptions(
            learn=options["learn"], forgotten=options["forgotten"], person=options["person"]
        )
        work = importing.dry_run if options["dry_run"] else importing.import_file
        try:
            outcome = work(owner, options["file"], chosen)
        except (BadFile, Refused) as problem:
            raise CommandError(
                f"Nothing was imported. {strip_terminal_controls(describe(problem))}"
            ) from problem
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.") from error
        # Text from the file is not trusted: it may contain terminal control characters.
        self.stdout.write(f"{format_as_one_line(options['file'].name)}: {describe_source(outcome.source)}")
        for row in list_report_rows(outcome):
            counts = ", ".join(f"{count} {word}" for word, count in row.nonzero)
            self.stdout.write(f"{row.what}: {counts}")
        for note in outcome.notes:
            self.stdout.write(format_as_one_line(note))
        for refusal in outcome.refusals[:_MOST_REFUSALS]:
            self.stdout.write(format_as_one_line(f"Not taken: {refusal.what}: {refusal.why}"))
        if (more := len(outcome.refusals) - _MOST_REFUSALS) > 0:
            self.stdout.write(f"… and {more} more.")
        if outcome.persons:
            self.stdout.write(
                format_as_one_line(f"Say whose are yours with --person: {', '.join(outcome.persons)}")
            )
        self.stdout.write("Nothing was changed." if options["dry_run"] else "Done.")
