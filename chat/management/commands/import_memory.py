"""`manage.py import_memory`: chats and memories from a file of ours, of ChatGPT, Claude or mem0."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from chat.actions import importing
from chat.actions.importing import Options
from chat.actions.importing.words import rows_of, title_of
from chat.actions.messages import Refused
from chat.management.people import owner_named
from chat.porting.problems import BadFile
from chat.terminal.harmless import harmless, in_a_line

# Lines about what is not taken; more of them nobody reads in a terminal.
_MOST_REFUSALS = 50


class Command(BaseCommand):
    """Say what an import would do, or do it."""

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
        owner = owner_named(options["owner"])
        chosen = Options(learn=options["learn"], forgotten=options["forgotten"], person=options["person"])
        work = importing.dry_run if options["dry_run"] else importing.carry_out
        try:
            outcome = work(owner, options["file"], chosen)
        except (BadFile, Refused) as problem:
            raise CommandError(f"Nothing was imported. {harmless(str(problem))}") from problem
        except OSError as error:
            raise CommandError(f"{options['file']} cannot be read: {error.strerror}.") from error
        # What stands in the file is somebody else's, and may hold what a terminal obeys.
        self.stdout.write(f"{in_a_line(options['file'].name)}: {title_of(outcome.source)}")
        for row in rows_of(outcome):
            counts = ", ".join(f"{count} {word}" for word, count in row.told)
            self.stdout.write(f"{row.what}: {counts}")
        for note in outcome.notes:
            self.stdout.write(in_a_line(note))
        for refusal in outcome.refusals[:_MOST_REFUSALS]:
            self.stdout.write(in_a_line(f"Not taken: {refusal.what}: {refusal.why}"))
        if (more := len(outcome.refusals) - _MOST_REFUSALS) > 0:
            self.stdout.write(f"… and {more} more.")
        if outcome.persons:
            self.stdout.write(in_a_line(f"Say whose are yours with --person: {', '.join(outcome.persons)}"))
        self.stdout.write("Nothing was changed." if options["dry_run"] else "Done.")
