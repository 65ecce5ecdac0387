"""`manage.py doctor`: checks the installation and prints a line for each check."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from chat.actions import leftovers
from chat.actions.clock_repair import find_dates_ahead, move_dates_back
from chat.management.backups import back_up
from chat.management.health import FindingState, run_checks
from chat.text import format_as_one_line
from memoryapp.base.files import choose_stamp


class Command(BaseCommand):
    """Print for each part of the installation that it is well, or what to do."""

    help = (
        "Look at the installation: each line is ok, or says what to do. Exit code 1 when something is broken."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--clock", action="store_true", help="show dates that lie ahead, which a wrong clock has written"
        )
        parser.add_argument(
            "--move-back",
            action="store_true",
            help="with --clock: write a backup, and move these dates back so that the latest is now",
        )
        parser.add_argument(
            "--remove-former",
            action="store_true",
            help="remove what restores have put aside, and the backups made before updates",
        )
        parser.add_argument(
            "--deep", action="store_true", help="read the weights whole and compare checksums"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["clock"]:
            self._look_at_dates(move_back=options["move_back"])
            return
        if options["remove_former"]:
            for path in leftovers.remove_former_data(Path(settings.DATA_DIR)):
                self.stdout.write(f"Removed {path}")
            return
        if options["move_back"]:
            raise CommandError("--move-back goes with --clock.")
        style = {
            FindingState.OK: self.style.SUCCESS,
            FindingState.NOTE: self.style.WARNING,
            FindingState.BROKEN: self.style.ERROR,
        }
        failed = 0
        for finding in run_checks(deep=options["deep"]):
            state = style[finding.state](f"{finding.state.value:<7}")
            self.stdout.write(f"{state} {finding.topic:<12} {format_as_one_line(finding.text)}")
            self.stdout.flush()
            failed += finding.state is FindingState.BROKEN
        if failed:
            self.stdout.write(f"{failed} broken. The lines above say what to do.")
            raise SystemExit(1)

    def _look_at_dates(self, *, move_back: bool) -> None:
        """Print which dates lie ahead and, with `move_back`, move them after a backup."""
        now = timezone.now()
        self.stdout.write(f"The clock of this machine says {timezone.localtime(now):%Y-%m-%d %H:%M}.")
        ahead = find_dates_ahead(now)
        if not ahead:
            self.stdout.write("No date lies ahead of it.")
            return
        for table, (count, latest) in ahead.items():
            self.stdout.write(
                f"{table}: {count} ahead, the latest {timezone.localtime(latest):%Y-%m-%d %H:%M}"
            )
        if not move_back:
            self.stdout.write(
                "If the clock is right now, `manage.py doctor --clock --move-back` writes a backup and moves "
                "these dates back. Stop the program first."
            )
            return
        data = Path(settings.DATA_DIR)
        target = data / f"before-move-back-{choose_stamp(data, now)}.backup"
        back_up(target)
        self.stdout.write(f"Backup written to {target}. Dates moved back: {move_dates_back(now)}.")
