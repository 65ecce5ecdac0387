"""`manage.py weights list|fetch|verify [names]`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from chat.llm.weights import cli


class Command(BaseCommand):
    """Lists, fetches and verifies the weights of models."""

    help = "List, fetch and verify the weights of models."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """The same arguments as the bootstrap's."""
        cli.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Exits with 1 when something is missing, wrong or cannot be had."""
        if code := cli.run(options["action"], options["names"]):
            raise SystemExit(code)
