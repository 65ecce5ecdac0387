"""`manage.py decay`: runs the nightly decay now."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from chat.actions.owners import time_zone_of
from chat.jobs import schedule


class Command(BaseCommand):
    """Decay unused facts and empty the archive."""

    help = "Let unused memories fade and remove what has lain in the archive for 30 days."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        for owner in schedule.find_owners():
            faded, removed = schedule.decay_and_purge(owner, now, time_zone_of(owner.pk))
            self.stdout.write(
                f"{owner.get_username()}: {faded.faded} faded, of these {faded.expired} went to the archive; "
                f"{removed} removed from the archive"
            )
