"""Ids of imported rows: the file's own, or one derived from it where another owner has that id."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeVar
from uuid import UUID, uuid5

from django.db import connection
from django.db.models import Model, QuerySet

from chat.models import User

_NAMES = UUID("0d5f8c1e-7a44-5c0e-8f5d-9d3a2b1c4e6f")
# SQLite allows 32,766 values in a statement.
_AT_ONCE = 5000
T = TypeVar("T")


def derive_id(owner: User, key: UUID, *within: Any) -> UUID:
    """Return the id that replaces another one for this owner; the same for the same arguments."""
    return uuid5(_NAMES, "/".join(str(part) for part in (owner.pk, *within, key)))


def split_into_batches(values: Collection[T], size: int = _AT_ONCE) -> Iterator[list[T]]:
    """Yield the values in lists that are short enough for one statement."""
    ordered = list(values)
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def fetch_columns(
    rows: QuerySet[Any], field: str, values: Collection[Any], *columns: str
) -> list[tuple[Any, ...]]:
    """Return these columns of the rows whose field has one of the values."""
    return [
        row
        for portion in split_into_batches(values)
        for row in rows.filter(**{f"{field}__in": portion}).values_list(*columns)
    ]


def map_to_owner_ids(model: Any, owner: User, wanted: Collection[UUID]) -> dict[UUID, UUID]:
    """Return by the file's id the key that a row has, or will have, for this owner.

    A row that was imported under a derived key is found under it again.
    """
    derived_keys = {derive_id(owner, key): key for key in wanted}
    owners = dict(fetch_columns(model.objects.all(), "pk", [*wanted, *derived_keys], "pk", "owner_id"))
    return {
        key: derived_key if owners.get(key, owner.pk) != owner.pk or derived_key in owners else key
        for derived_key, key in derived_keys.items()
    }


def insert_rows(model: type[Model], rows: Sequence[Model]) -> None:
    """Insert new rows with one prepared statement; in the caller's transaction.

    `bulk_create` builds a statement for each hundred rows, which takes longer than executing it.
    """
    fields = model._meta.concrete_fields
    columns = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    places = ", ".join(["%s"] * len(fields))
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} ({columns}) VALUES ({places})",  # noqa: S608 - names of ours alone
            [[f.get_db_prep_save(getattr(row, f.attname), connection) for f in fields] for row in rows],
        )
