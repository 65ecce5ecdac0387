"""`manage.py migrate`: Django's, in one transaction: after a failure or a kill the database is as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.commands.migrate import Command as DjangoCommand
from django.db import connections, transaction

from memoryapp.base.env import create_private_file


class Command(DjangoCommand):
    """Apply all migrations or none."""

    def handle(self, *args: Any, **options: Any) -> Any:
        connection = connections[options["database"]]
        if connection.vendor == "sqlite":
            create_private_file(Path(connection.settings_dict["NAME"]))
        # SQLite ignores this inside of a transaction, and its tables cannot be rebuilt with checks.
        connection.disable_constraint_checking()
        try:
            with transaction.atomic(using=options["database"]):
                done = super().handle(*args, **options)
                connection.check_constraints()
            return done
        finally:
            connection.enable_constraint_checking()
