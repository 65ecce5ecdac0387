"""A second database beside the one of this process: its alias, its tables, and a source that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import DEFAULT_DB_ALIAS, connections, models, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import OperationalError

from chat.models import Process
from memoryapp.base.env import create_private_file, database_path
from memoryapp.base.passphrase import is_encrypted

# Rows of running processes mean nothing in another database: none of them runs there.
_NOT_COPIED = (Process,)


def list_models() -> list[type[models.Model]]:
    """Return the models whose tables are copied, also of other packages and of many-to-many relations."""
    every = apps.get_models(include_auto_created=True)
    return [
        model for model in every if model._meta.managed and not model._meta.proxy and model not in _NOT_COPIED
    ]


def sqlite_settings(file: Path, *, encrypted: bool) -> dict[str, Any]:
    """Return Django's settings for an SQLite file; an encrypted one gets the keys of this process."""
    return {
        "ENGINE": "memoryapp.encrypted_sqlite" if encrypted else "memoryapp.sqlite",
        "NAME": file,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;",
        },
    }


def is_encrypted_here(file: Path) -> bool:
    """Return whether a database at this place is encrypted: only the one of this data folder can be."""
    return file == database_path() and is_encrypted(Path(settings.DATA_DIR))


@contextmanager
def second_database(alias: str, database: dict[str, Any]) -> Iterator[BaseDatabaseWrapper]:
    """Let this process use another database under an alias; its connection is closed at the end."""
    configured = connections.configure_settings(
        {DEFAULT_DB_ALIAS: settings.DATABASES["default"], alias: database}
    )
    connections.settings[alias] = configured[alias]
    if database["ENGINE"] != "django.db.backends.postgresql":
        create_private_file(Path(database["NAME"]))
    try:
        yield connections[alias]
    finally:
        connections[alias].close()
        del connections[alias]
        del connections.settings[alias]


class _Only:
    """A router that sends every query to one database."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return self._alias

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return self._alias

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == self._alias


def migrate(alias: str) -> None:
    """Create or change the tables of a second database.

    Migrations that name no database would change the first one; meanwhile every query goes to the second.
    """
    before = router.routers
    router.routers = [_Only(alias)]
    try:
        call_command("migrate", database=alias, verbosity=0, interactive=False)
    finally:
        router.routers = before


def require_current_tables(connection: BaseDatabaseWrapper) -> None:
    """Raise CommandError where a database has the tables of an older version."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise CommandError(
            "The database has the tables of an older version. Run `manage.py backup`, then `manage.py "
            "migrate`, and this command again."
        )


@contextmanager
def snapshot(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Show one state of a PostgreSQL database until the block ends, which others may change meanwhile.

    Nothing can be written through this connection.
    """
    with transaction.atomic(using=connection.alias):
        _begin_reading(connection)
        yield


@contextmanager
def standing_still(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Keep everybody from writing to a database until the block ends, this process too.

    Raises CommandError where somebody is still writing after a short wait.
    """
    try:
        _wait_no_longer(connection)
        with transaction.atomic(using=connection.alias):
            if connection.vendor == "sqlite":
                yield from _hold_sqlite(connection)
            else:
                _begin_reading(connection)
                _lock_tables(connection)
                yield
    except OperationalError as error:
        if "lock" not in str(error):
            raise
        raise CommandError("Another program is writing to the database. End it first.") from error


def _wait_no_longer(connection: BaseDatabaseWrapper) -> None:
    """Give up after a second where another program holds SQLite's lock: whoever writes now writes on."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 1000")


def _hold_sqlite(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Forbid writing through a connection whose transaction holds SQLite's lock for writers."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = OFF")


def _begin_reading(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def _lock_tables(connection: BaseDatabaseWrapper) -> None:
    quote = connection.ops.quote_name
    every: list[type[models.Model]] = [*list_models(), *_NOT_COPIED]
    tables = ", ".join(quote(model._meta.db_table) for model in every)
    with connection.cursor() as cursor:
        # Autovacuum locks tables too. PostgreSQL cancels it for a command that has waited for a second.
        cursor.execute("SET LOCAL lock_timeout = '3s'")
        cursor.execute(f"LOCK TABLE {tables} IN SHARE MODE")
