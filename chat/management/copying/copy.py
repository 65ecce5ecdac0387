"""Copies all rows of one database into another one, and compares both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import CommandError
from django.db import models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from .constraints import check_foreign_keys, set_sequences
from .databases import list_models
from .rows import Total, columns_of, read_pages, write_rows

# Called with the name of a table and the number of its rows that are in the new database.
Report = Callable[[str, int], None]
Totals = Mapping[str, Total]


def copy_everything(
    source: str, target: BaseDatabaseWrapper, report: Report = lambda table, rows: None
) -> None:
    """Put the rows of `source` in the place of those of `target`, in one transaction, and compare both.

    The tables are there already. Raises CommandError where they differ in the end, which changes nothing.
    """
    every = list_models()
    totals = {}
    # SQLite ignores this inside of a transaction.
    target.disable_constraint_checking()
    try:
        with transaction.atomic(using=target.alias):
            empty(target)
            for model in every:
                totals[model._meta.db_table] = _copy_table(model, source, target.alias, report)
            check_foreign_keys(target)
            set_sequences(target, every)
            compare(totals, target.alias)
    finally:
        target.enable_constraint_checking()


def empty(target: BaseDatabaseWrapper) -> None:
    """Remove the rows of all tables that are copied; in the caller's transaction."""
    if target.vendor == "sqlite":
        for model in list_models():
            empty_table(model, target)
        return
    tables = [target.ops.quote_name(model._meta.db_table) for model in list_models()]
    with target.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(tables)}")


def empty_table(model: type[models.Model], target: BaseDatabaseWrapper) -> None:
    """Delete all rows of one table and no rows of other tables; in the caller's transaction."""
    model._base_manager.using(target.alias).all()._raw_delete(target.alias)


def _copy_table(model: type[models.Model], source: str, target: str, report: Report) -> Total:
    total = Total()
    for page in read_pages(model, source):
        write_rows(model, target, page)
        total.add(columns_of(model), page)
        report(model._meta.db_table, total.rows)
    return total


def sum_up(model: type[models.Model], alias: str, up_to: Any = None) -> Total:
    """Return the number of a table's rows and the sum of their hashes, up to a key."""
    total = Total()
    for page in read_pages(model, alias, up_to=up_to):
        total.add(columns_of(model), page)
    return total


def compare(totals: Totals, alias: str) -> None:
    """Read all rows of a database and compare them with those that were copied. Raises CommandError."""
    for model in list_models():
        table = model._meta.db_table
        found, wanted = sum_up(model, alias), totals[table]
        if found.rows != wanted.rows:
            raise CommandError(
                f"The table {table} has {found.rows} rows in the new database, not {wanted.rows}."
            )
        if found.sum != wanted.sum:
            raise CommandError(f"The rows of {table} differ in the new database.")
