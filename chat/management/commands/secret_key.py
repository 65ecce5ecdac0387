"""`manage.py secret_key`: compares the secret key with the fingerprint in the database, or replaces that."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from chat.actions import installation

_LOST = (
    "The present key is that of the database from now on. Everybody must log in again, in server mode the "
    "choice of a model server is gone, and what was forgotten may be learned again from old messages. "
    "Restart all processes with the present key."
)


class Command(BaseCommand):
    """Compare the secret key with the one with which the database was made."""

    help = (
        "Say whether the secret key here is the one with which the database was made. With --accept-loss the "
        "present key takes the place of one that is lost for good."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--accept-loss", action="store_true", help="the former key is lost for good")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["accept_loss"]:
            installation.accept_lost_secret()
            self.stdout.write(_LOST)
            return
        # Raises an error that says what to do.
        installation.require_same_secret()
        self.stdout.write("The secret key is that of the database.")
