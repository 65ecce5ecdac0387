"""`manage.py doctor`: looks at the installation, a line for each thing."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from chat.management.health import State, examine
from chat.terminal.harmless import in_a_line


class Command(BaseCommand):
    """Says of each part of the installation that it is well, or what to do."""

    help = (
        "Look at the installation: each line is ok, or says what to do. Exit code 1 when something is broken."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Only how thorough to be."""
        parser.add_argument(
            "--deep", action="store_true", help="read the weights whole and compare checksums"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints each finding as soon as it is there."""
        style = {
            State.OK: self.style.SUCCESS,
            State.NOTE: self.style.WARNING,
            State.BROKEN: self.style.ERROR,
        }
        failed = 0
        for finding in examine(deep=options["deep"]):
            state = style[finding.state](f"{finding.state.value:<7}")
            self.stdout.write(f"{state} {finding.topic:<12} {in_a_line(finding.text)}")
            self.stdout.flush()
            failed += finding.state is State.BROKEN
        if failed:
            self.stdout.write(f"{failed} broken. The lines above say what to do.")
            raise SystemExit(1)
