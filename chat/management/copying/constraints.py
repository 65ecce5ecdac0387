"""Foreign keys of a database that is being filled, which are checked in the end, and its sequences."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.management.base import CommandError
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import IntegrityError

_FOREIGN_KEYS = """
    SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint
    WHERE contype = 'f' AND connamespace = current_schema()::regnamespace ORDER BY 1, 2
"""
# Keys below 1 exist: the search index counts backwards for what is older than the index.
_RAISE = """
    SELECT setval('{sequence}', top) FROM (SELECT max({column}) AS top FROM {table}) AS highest
    WHERE top >= (SELECT last_value FROM {sequence})
"""
ForeignKey = tuple[str, str, str]


def list_foreign_keys(connection: BaseDatabaseWrapper) -> list[ForeignKey]:
    """Return table, name and definition of PostgreSQL's foreign keys; none for SQLite."""
    if connection.vendor == "sqlite":
        return []
    with connection.cursor() as cursor:
        cursor.execute(_FOREIGN_KEYS)
        return [(table, name, definition) for table, name, definition in cursor.fetchall()]


def drop_foreign_keys(connection: BaseDatabaseWrapper, keys: Sequence[ForeignKey]) -> None:
    """Drop them, so that rows can be written in any order and in several transactions."""
    with connection.cursor() as cursor:
        for table, name, _definition in keys:
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")


def add_foreign_keys(connection: BaseDatabaseWrapper, keys: Sequence[ForeignKey]) -> None:
    """Add those again that are missing, which checks all rows. Raises CommandError where one fails."""
    there = {name for _table, name, _definition in list_foreign_keys(connection)}
    with connection.cursor() as cursor:
        for table, name, definition in keys:
            if name not in there:
                try:
                    cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
                except IntegrityError as error:
                    raise CommandError(f"Rows of {table} name others that are missing ({name}).") from error


def check_foreign_keys(connection: BaseDatabaseWrapper) -> None:
    """Raise CommandError where a row names another one that is missing."""
    try:
        connection.check_constraints()
    except IntegrityError as error:
        raise CommandError(f"The database is damaged: {error}") from error


def set_sequences(connection: BaseDatabaseWrapper, every: Sequence[type[models.Model]]) -> None:
    """Let the next rows get keys behind the highest; SQLite does so by itself.

    No sequence is set back: PostgreSQL does not undo that where the caller's transaction fails, and the rows
    that stay then may have higher keys.
    """
    if connection.vendor == "sqlite":
        return
    quote = connection.ops.quote_name
    with connection.cursor() as cursor:
        for model in every:
            if not isinstance(model._meta.pk, models.AutoField | models.BigAutoField | models.SmallAutoField):
                continue
            table, column = model._meta.db_table, str(model._meta.pk.column)
            cursor.execute("SELECT pg_get_serial_sequence(%s, %s)", [quote(table), column])
            sequence = cursor.fetchone()[0]
            cursor.execute(_RAISE.format(sequence=sequence, table=quote(table), column=quote(column)))
