"""`manage.py weights list|fetch|verify [names]`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from chat.llm.weights import cli


class Command(BaseCommand):
    """List, fetch and verify model weights."""

    help = "List, fetch and verify the weights of models."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        cli.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if code := cli.run(options["action"], options["names"]):
            raise SystemExit(code)
