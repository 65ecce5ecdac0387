"""Reads rows in the order of their keys, writes them to another database, and computes the same hash on both.

A table's hash is the sum of its rows' hashes, so it does not depend on an order, which differs between
databases for texts. A row's hash depends on its values alone and not on how a database stores them.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError
from django.db import connections, models
from django.db.models import JSONField, Value
from django.db.utils import DatabaseError

Row = tuple[Any, ...]
# Rows that are read and written at once; of tables with large values fewer.
_ROWS, _LARGE_ROWS = 500, 25
_MODULUS = 2**256
_REPLACEMENT = "\ufffd"


@dataclass(slots=True)
class Total:
    """How many rows, and the sum of their hashes."""

    rows: int = 0
    sum: int = 0

    def add(self, fields: Sequence[models.Field[Any, Any]], rows: Sequence[Row]) -> None:
        """Count rows of a table with these columns."""
        self.rows += len(rows)
        for row in rows:
            self.sum = (self.sum + hash_row(fields, row)) % _MODULUS


def columns_of(model: type[models.Model]) -> list[models.Field[Any, Any]]:
    """Return the columns of a model's table that are stored, in a fixed order."""
    return [field for field in model._meta.local_concrete_fields if not field.generated]


def read_pages(
    model: type[models.Model], alias: str, after: Any = None, up_to: Any = None
) -> Iterator[list[Row]]:
    """Yield the rows of a table in the order of their keys, some hundred at a time.

    Only those with keys greater than `after` and not greater than `up_to`. What the other kind of database
    cannot store is replaced already.
    """
    fields = columns_of(model)
    # The name of the key's column. Where the key is a foreign key, ordering by the field would join the other
    # table.
    key = model._meta.pk.attname
    place = [field.attname for field in fields].index(key)
    size = _LARGE_ROWS if any(isinstance(field, models.BinaryField) for field in fields) else _ROWS
    rows = model._base_manager.using(alias).order_by(key).values_list(*[field.attname for field in fields])
    if up_to is not None:
        rows = rows.filter(**{f"{key}__lte": up_to})
    while True:
        page = list((rows if after is None else rows.filter(**{f"{key}__gt": after}))[:size])
        if page:
            after = page[-1][place]
            yield [tuple(storable(value) for value in row) for row in page]
        if len(page) < size:
            return


def key_of(model: type[models.Model], row: Row) -> Any:
    """Return the primary key in a row of `read_pages`."""
    return row[[field.attname for field in columns_of(model)].index(model._meta.pk.attname)]


def parse_key(model: type[models.Model], text: str) -> Any:
    """Return the primary key whose text `str` gave."""
    field: Any = model._meta.pk
    return (field.target_field if field.is_relation else field).to_python(text)


def write_rows(model: type[models.Model], alias: str, rows: Sequence[Row]) -> None:
    """Insert rows as they are, without signals and without values that Django sets by itself.

    In the caller's transaction. Raises CommandError, naming the table, where the database refuses a value.
    """
    fields = columns_of(model)
    names = [field.attname for field in fields]
    objects = [model.from_db(alias, names, _for_columns(fields, row)) for row in rows]
    size = connections[alias].ops.bulk_batch_size(fields, objects) or len(objects)
    manager: Any = model._base_manager
    try:
        for first in range(0, len(objects), size):
            manager._insert(objects[first : first + size], fields=fields, using=alias, raw=True)
    except DatabaseError as error:
        said = str(error).strip().splitlines()[:1]
        keys = f"{key_of(model, rows[0])} to {key_of(model, rows[-1])}"
        raise CommandError(
            f"The table {model._meta.db_table} has a row that the new database refuses, one of those with "
            f"the keys {keys}: {''.join(said)}"
        ) from error


def _for_columns(fields: Sequence[models.Field[Any, Any]], row: Row) -> list[Any]:
    """Let the JSON value null be stored as such where a column cannot be empty."""
    return [
        Value(None, JSONField())
        if value is None and isinstance(field, JSONField) and not field.null
        else value
        for field, value in zip(fields, row, strict=True)
    ]


def storable(value: Any) -> Any:
    """Return a value that both kinds of database can store.

    PostgreSQL has no place for the character 0, and in JSON none for halves of characters.
    """
    if isinstance(value, str):
        return value if value.isascii() and "\0" not in value else _replace(value)
    if isinstance(value, dict):
        return {storable(name): storable(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [storable(inner) for inner in value]
    if isinstance(value, memoryview):
        return bytes(value)
    return value


def _replace(text: str) -> str:
    text = text.replace("\0", _REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(_REPLACEMENT if 0xD800 <= ord(letter) < 0xE000 else letter for letter in text)
    return text


def hash_row(fields: Sequence[models.Field[Any, Any]], row: Row) -> int:
    """Return the hash of a row, the same for the same values in every database."""
    parts = [canonical(field, value) for field, value in zip(fields, row, strict=True)]
    return int.from_bytes(hashlib.sha256(json.dumps(parts).encode()).digest(), "big")


def canonical(field: models.Field[Any, Any], value: Any) -> Any:
    """Return a value of a column as JSON can show it, without what depends on the database."""
    if isinstance(field, JSONField):
        return ["json", json.dumps(_canonical_json(value), sort_keys=True)]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return ["float", (value + 0.0).hex()]
    if isinstance(value, (bytes, memoryview)):
        return ["bytes", bytes(value).hex()]
    if isinstance(value, UUID):
        return ["uuid", value.hex]
    if isinstance(value, datetime.datetime):
        return ["time", value.astimezone(datetime.UTC).isoformat(timespec="microseconds")]
    if isinstance(value, datetime.timedelta):
        return ["microseconds", value // datetime.timedelta(microseconds=1)]
    return [type(value).__name__, str(value)]


def _canonical_json(value: Any) -> Any:
    """Return a value of JSON with its numbers as both databases give them back.

    PostgreSQL keeps only the value of a number in JSON: it returns 1e16 as a whole number, and -0.0 as 0.0.
    """
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _canonical_json(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_canonical_json(inner) for inner in value]
    return value
