"""`manage.py doctor`: checks the installation and prints a line for each check."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from chat.management.health import FindingState, run_checks
from chat.text import format_as_one_line


class Command(BaseCommand):
    """Print for each part of the installation that it is well, or what to do."""

    help = (
        "Look at the installation: each line is ok, or says what to do. Exit code 1 when something is broken."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--deep", action="store_true", help="read the weights whole and compare checksums"
        )

    def handle(self, *args: Any, **options: Any) -> None:
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
