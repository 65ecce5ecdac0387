"""`manage.py migrate`: Django's, in one transaction: after a failure or a kill the database is as it was.

With PostgreSQL one process at a time migrates; another one waits and then finds nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.commands.migrate import Command as DjangoCommand
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from chat.actions.installation import require_no_unfinished_move
from memoryapp.base.env import create_private_file

# The number of the advisory lock; any that no other program on the database uses.
_LOCK = 7_355_608_001


class Command(DjangoCommand):
    """Apply all migrations or none."""

    def handle(self, *args: Any, **options: Any) -> Any:
        connection = connections[options["database"]]
        if connection.vendor == "sqlite":
            # Before the first connection, which would create a file that others can read.
            create_private_file(Path(connection.settings_dict["NAME"]))
        # It would put rows into tables that are being copied.
        require_no_unfinished_move(connection)
        with _hold_lock(connection):
            # SQLite ignores this inside of a transaction, and its tables cannot be rebuilt with checks.
            connection.disable_constraint_checking()
            try:
                with transaction.atomic(using=options["database"]):
                    done = super().handle(*args, **options)
                    connection.check_constraints()
                return done
            finally:
                connection.enable_constraint_checking()


@contextmanager
def _hold_lock(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Hold PostgreSQL's lock on the migrations, waiting for it; it ends with the connection too."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])
