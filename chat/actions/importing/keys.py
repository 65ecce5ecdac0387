"""Keys of what comes in: the file's own, or one derived from it where that is somebody else's."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeVar
from uuid import UUID, uuid5

from django.db import connection
from django.db.models import Model, QuerySet

_NAMES = UUID("0d5f8c1e-7a44-5c0e-8f5d-9d3a2b1c4e6f")
# SQLite takes 32,766 values in a statement.
_AT_ONCE = 5000
T = TypeVar("T")


def derived(owner: Any, key: UUID, *within: Any) -> UUID:
    """Return the key that stands for another one in an owner's world: the same each time."""
    return uuid5(_NAMES, "/".join(str(part) for part in (owner.pk, *within, key)))


def in_portions(values: Collection[T], size: int = _AT_ONCE) -> Iterator[list[T]]:
    """Yield the values in lists that one statement takes."""
    ordered = list(values)
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def found(rows: QuerySet[Any], field: str, values: Collection[Any], *columns: str) -> list[tuple[Any, ...]]:
    """Return these columns of the rows whose field has one of the values."""
    return [
        row
        for portion in in_portions(values)
        for row in rows.filter(**{f"{field}__in": portion}).values_list(*columns)
    ]


def own_keys(model: Any, owner: Any, wanted: Collection[UUID]) -> dict[UUID, UUID]:
    """Return by the file's key the one under which something is, or will be, the owner's.

    A row that came in under a derived key is found again under it.
    """
    stand_ins = {derived(owner, key): key for key in wanted}
    owners = dict(found(model.objects.all(), "pk", [*wanted, *stand_ins], "pk", "owner_id"))
    return {
        key: stand_in if owners.get(key, owner.pk) != owner.pk or stand_in in owners else key
        for stand_in, key in stand_ins.items()
    }


def insert(model: type[Model], rows: Sequence[Model]) -> None:
    """Write new rows with one statement that is prepared once; in the caller's transaction.

    `bulk_create` composes a statement for each hundred rows, which takes longer than to carry it out.
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
