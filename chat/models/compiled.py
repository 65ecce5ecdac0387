"""Queries that are compiled once, and updates of columns, for what happens with every message.

Django builds the SQL of a QuerySet for each call, which takes 0.4 to 1.5 ms on a slow core; SQLite answers it
in 0.1 ms. Use QuerySets where that does not matter.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from django.db import DEFAULT_DB_ALIAS, connections, models

_KEY = models.UUIDField()


class CompiledQuery:
    """A query whose rows are selected by keys, compiled once for SQLite and once for PostgreSQL.

    `build` takes `keys` keys, UUIDs or with `of=int` integers, and returns a QuerySet with `values_list`. The
    SQL stays as built: `build` must not use anything that changes, such as the time. Threads may share an
    instance.
    """

    def __init__(
        self,
        build: Callable[..., models.QuerySet[Any, Any]],
        keys: int = 1,
        of: type[UUID] | type[int] = UUID,
    ) -> None:
        self._build = build
        # Random values in the place of the keys. `_compile` finds them among the parameters of the SQL.
        make = uuid4 if of is UUID else partial(secrets.randbits, 62)
        self._placeholders = [make() for _ in range(keys)]
        self._compiled: dict[str, tuple[str, list[Any], list[Any]]] = {}

    def fetch(self, *keys: Any) -> list[tuple[Any, ...]]:
        """Return the rows for these keys, with the values that the QuerySet would give. One query."""
        # `django.db.connection` looks the connection up at each use of an attribute, which takes longer.
        connection = connections[DEFAULT_DB_ALIAS]
        sql, parameters, columns = self._compile(connection)
        values = dict(zip(self._placeholders, keys, strict=True))
        with connection.cursor() as cursor:
            cursor.execute(sql, [_adapt_key(values[p], connection) if p in values else p for p in parameters])
            rows = cursor.fetchall()
        if not rows:
            return []
        by_column = list(zip(*rows, strict=True))
        for place, column in enumerate(columns):
            for convert in (
                *connection.ops.get_db_converters(column),
                *column.get_db_converters(connection),
            ):
                by_column[place] = tuple([convert(value, column, connection) for value in by_column[place]])
        return list(zip(*by_column, strict=True))

    def get(self, *keys: Any) -> tuple[Any, ...]:
        """Return the first row for these keys; raises the model's DoesNotExist where there is none."""
        if rows := self.fetch(*keys):
            return rows[0]
        raise self._build(*keys).model.DoesNotExist

    def _compile(self, connection: Any) -> tuple[str, list[Any], list[Any]]:
        """Return the SQL, its parameters with placeholders where keys belong, and the selected columns."""
        compiled = self._compiled.get(connection.vendor)
        if compiled is None:
            compiler = self._build(*self._placeholders).query.get_compiler(connection=connection)
            sql, parameters = compiler.as_sql()
            placeholders = {_adapt_key(p, connection): p for p in self._placeholders}
            columns = [expression for expression, _sql, _alias in compiler.select]
            compiled = sql, [placeholders.get(p, p) for p in parameters], columns
            self._compiled[connection.vendor] = compiled
        return compiled


def update_columns(row: models.Model, names: Sequence[str]) -> None:
    """Write these fields of a stored row, as `save(update_fields=names)` does, but without signals."""
    connection = connections[DEFAULT_DB_ALIAS]
    quote = connection.ops.quote_name
    key: Any = row._meta.pk
    fields: list[Any] = [row._meta.get_field(name) for name in names]
    assignments = ", ".join([f"{quote(field.column)} = %s" for field in fields])
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {quote(row._meta.db_table)} SET {assignments} WHERE {quote(key.column)} = %s",  # noqa: S608 - names of ours alone
            [f.get_db_prep_save(getattr(row, f.attname), connection) for f in (*fields, key)],
        )


def _adapt_key(key: Any, connection: Any) -> Any:
    return key if isinstance(key, int) else _KEY.get_db_prep_value(key, connection)
