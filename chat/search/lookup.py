"""Asks the database's own full text index: SQLite's FTS5 or PostgreSQL's tsvector (migration 0009)."""

from __future__ import annotations

from typing import Any

from django.db import connection

from chat.models import SearchEntry
from chat.models.search import shelf_of

from .query import Part, Query, fts5, tsquery

# What stands in no list is not found: chats on their way out, temporary ones, what was replaced. SQLite walks
# its index from the end as far as the limit needs; PostgreSQL's planner chooses.
_SQLITE = """
    SELECT e.id FROM chat_searchwords w
    JOIN chat_searchentry e ON e.id = w.rowid
    JOIN chat_conversation c ON c.id = e.conversation_id
    LEFT JOIN chat_message m ON m.id = e.message_id
    WHERE w.chat_searchwords MATCH %s AND w.rowid BETWEEN %s AND %s AND e.owner_id = %s
    AND c.deletion_id IS NULL AND NOT c.temporary AND m.replaced_by_id IS NULL
    ORDER BY w.rowid DESC LIMIT %s
"""
_POSTGRESQL = """
    SELECT e.id FROM chat_searchentry e
    JOIN chat_conversation c ON c.id = e.conversation_id
    LEFT JOIN chat_message m ON m.id = e.message_id
    WHERE e.shelf = %s AND e.vector @@ %s::tsquery AND e.id BETWEEN %s AND %s AND e.owner_id = %s
    AND c.deletion_id IS NULL AND NOT c.temporary AND m.replaced_by_id IS NULL
    ORDER BY e.id DESC LIMIT %s
"""
_FIRST, _LAST = -(2**62), 2**62


def newest(
    owner: Any, query: Query, limit: int, *, titles: bool = False, after: int = _FIRST, before: int = _LAST
) -> list[int]:
    """Return the keys of an owner's newest entries that hold all that a query asks for, newest first.

    Of titles or else of messages; with keys from `after` to `before`. Where whole words fill the limit,
    beginnings are not looked for: they would rank lower, and of a common word they take long to gather. So
    where the words before it stand in few entries, these are looked through instead.
    """
    keys = _newest(owner, query.closed, limit, titles, after, before)
    if query == query.closed or len(keys) >= limit:
        return keys
    *before_it, typed = query.parts
    if before_it:
        few = _newest(owner, Query(tuple(before_it)), limit, titles, after, before)
        if len(few) < limit:
            return _in_which_begins(owner, typed, few)
    return sorted({*keys, *_newest(owner, query, limit, titles, after, before)}, reverse=True)


def _in_which_begins(owner: Any, part: Part, keys: list[int]) -> list[int]:
    beginnings = [f" {' '.join(spelling)}" for spelling in part.spellings]
    rows = SearchEntry.objects.for_owner(owner).filter(pk__in=keys).values_list("pk", "words")
    there = {key for key, words in rows if any(begins in f" {words}" for begins in beginnings)}
    return [key for key in keys if key in there]


def _newest(owner: Any, query: Query, limit: int, titles: bool, after: int, before: int) -> list[int]:
    shelf = shelf_of(owner.pk, titles=titles)
    if connection.vendor == "sqlite":
        sql, wanted = _SQLITE, [fts5(query, shelf)]
    else:
        sql, wanted = _POSTGRESQL, [shelf, tsquery(query)]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*wanted, after, before, owner.pk, limit])
        return [key for (key,) in cursor.fetchall()]
