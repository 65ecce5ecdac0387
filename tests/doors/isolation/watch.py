"""Finds out what a request has changed in the database."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import connection, transaction

Rows = dict[tuple[str, Any], dict[str, Any]]

# Every use of a token is recorded in its row, and every login in its session and beside it.
_HARMLESS = re.compile(
    r'UPDATE "(chat_apitoken" SET "last_used_at"|django_session")'
    r'|(UPDATE|INSERT INTO) "usersessions_usersession"'
)


@contextmanager
def record_writes() -> Iterator[list[str]]:
    """Collect the statements that change the database until the block ends."""
    found: list[str] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE", "REPLACE")) and not _HARMLESS.match(sql):
            found.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield found


def read_rows() -> Rows:
    """Return all rows of the program by table and key, without when a token was last used."""
    found: Rows = {}
    for model in apps.get_app_config("chat").get_models():
        for row in model._default_manager.order_by("pk").values():
            row.pop("last_used_at", None)
            found[model.__name__, row[model._meta.pk.attname]] = row
    return found


def keep_owned(rows: Rows, keys: Collection[Any], other: Any) -> Rows:
    """Return the rows with these keys, but none of the other user and no job for all users together."""
    return {
        key: rows[key]
        for key in keys
        if other.pk not in (rows[key].get("owner_id"), rows[key].get("id") if key[0] == "User" else None)
        and not (key[0] == "Job" and not rows[key]["payload"])
    }


@contextmanager
def rolled_back() -> Iterator[None]:
    """Take back at the end what the block changes in the database."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
