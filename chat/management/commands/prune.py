"""`manage.py prune`: deletes old conversations now."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from chat.actions.clock import is_clock_steady
from chat.actions.owners import settings_of
from chat.jobs import schedule
from chat.management.arguments import find_owner

_LONGEST_AGO = 36_500  # days


class Command(BaseCommand):
    """Delete conversations without a new message for some time."""

    help = (
        "Delete, for good, the chats that nobody wrote in for so many days. Pinned ones stay, and those with "
        "a marked message; what was learned in them stays too."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--days", type=int, help="how many; without it, what the owner's settings say")
        parser.add_argument("--owner", default="", help="whose; on a machine with one owner, theirs")

    def handle(self, *args: Any, **options: Any) -> None:
        owner = find_owner(options["owner"])
        days: int = settings_of(owner.pk).prune_after if options["days"] is None else options["days"]
        if not days and options["days"] is None:
            raise CommandError("The settings keep all chats. Say after how many days they go with --days.")
        if not 1 <= days <= _LONGEST_AGO:
            raise CommandError(f"--days is between 1 and {_LONGEST_AGO}, not {days}.")
        if not is_clock_steady(timezone.now()):
            raise CommandError(
                "The clock of this machine was set less than a day ago, so what is old is not certain. "
                "Nothing was deleted; try again tomorrow."
            )
        deleted = schedule.prune_conversations(owner, timezone.now(), days)
        self.stdout.write(f"Chats deleted: {deleted} (nobody wrote in them for {days} days).")
