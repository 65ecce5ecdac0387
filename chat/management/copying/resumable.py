"""Copies a database in many short transactions, so that a copy that broke off goes on where it stopped."""

from __future__ import annotations

from django.core.management.base import CommandError
from django.db import models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from chat.models import Process

from .constraints import (
    add_foreign_keys,
    check_foreign_keys,
    drop_foreign_keys,
    list_foreign_keys,
    set_sequences,
)
from .copy import Report, compare, empty, empty_table, sum_up
from .databases import list_models, migrate, require_current_tables
from .journal import Journal, Progress
from .rows import Total, columns_of, key_of, parse_key, read_pages, write_rows

# The tables of SQLite's full text index, which follows the rows of search entries.
SEARCH_INDEX = "chat_searchwords"
_SOURCE, _FOREIGN_KEYS = "source", "foreign keys"


def copy_in_steps(source: str, identity: str, target: BaseDatabaseWrapper, report: Report) -> int:
    """Copy all rows of a source that nobody changes meanwhile into an empty database; return how many.

    Call `require_usable` with the same `identity` before. A repetition goes on with what an earlier call has
    begun, and copies anew what has changed in the source since. Raises CommandError where the database
    differs from the source in the end; it is unfinished then, and no process uses it.
    """
    journal = Journal(target)
    _begin(journal, identity, target)
    totals = {}
    target.disable_constraint_checking()
    try:
        for model in list_models():
            totals[model._meta.db_table] = _continue_table(model, source, target, journal, report)
        add_foreign_keys(target, journal.read(_FOREIGN_KEYS))
        if target.vendor == "sqlite":
            # PostgreSQL has checked them when they were added.
            check_foreign_keys(target)
        set_sequences(target, list_models())
        compare(totals, target.alias)
        with transaction.atomic(using=target.alias):
            journal.drop()
    finally:
        target.enable_constraint_checking()
    return sum(total.rows for total in totals.values())


def _begin(journal: Journal, identity: str, target: BaseDatabaseWrapper) -> None:
    """Make the tables of a new move, or find those of an unfinished one."""
    if not journal.exists():
        migrate(target.alias)
        keys = list_foreign_keys(target)
        with transaction.atomic(using=target.alias):
            journal.create()
            journal.write(_SOURCE, identity)
            journal.write(_FOREIGN_KEYS, keys)
            # What the migrations have put in, such as the names of permissions, comes from the source.
            empty(target)
            drop_foreign_keys(target, keys)
    else:
        require_current_tables(target)


def require_usable(identity: str, target: BaseDatabaseWrapper) -> None:
    """Raise CommandError where a database is neither empty nor has an unfinished move from the same source.

    `identity` tells this source from others. Writes nothing.
    """
    journal = Journal(target)
    if not journal.exists():
        require_empty(target)
    elif journal.read(_SOURCE) != identity:
        raise CommandError(
            "Another move into this database was broken off. Finish that one, or name an empty database."
        )


def require_empty(target: BaseDatabaseWrapper) -> None:
    """Raise CommandError where a database holds anything but tables that were just made."""
    there = {*target.introspection.table_names()}
    ours = {model._meta.db_table: model for model in list_models()}
    filled_by_migrations = {"django_content_type", "auth_permission"}
    used = [
        table
        for table, model in ours.items()
        if table in there - filled_by_migrations and model._base_manager.using(target.alias).exists()
    ]
    own = {*ours, Process._meta.db_table, "django_migrations"} if "django_migrations" in there else set()
    foreign = [table for table in there - own if not table.startswith(SEARCH_INDEX)]
    if used or foreign:
        what = f"the table {used[0]} has rows" if used else "it holds tables of another program"
        raise CommandError(f"The new database is not empty: {what}. Name an empty one; nothing was changed.")


def _continue_table(
    model: type[models.Model], source: str, target: BaseDatabaseWrapper, journal: Journal, report: Report
) -> Total:
    """Copy what is missing of a table; return the total of all its rows."""
    table = model._meta.db_table
    progress = journal.read_progress(table)
    if progress.last and sum_up(model, source, parse_key(model, progress.last)) != progress.total:
        # The source has been used since.
        progress = Progress()
    if not progress.last:
        with transaction.atomic(using=target.alias):
            empty_table(model, target)
            journal.write_progress(table, progress)
    after = parse_key(model, progress.last) if progress.last else None
    for page in read_pages(model, source, after=after):
        progress.total.add(columns_of(model), page)
        progress.last = str(key_of(model, page[-1]))
        with transaction.atomic(using=target.alias):
            write_rows(model, target.alias, page)
            journal.write_progress(table, progress)
        report(table, progress.total.rows)
    return progress.total
