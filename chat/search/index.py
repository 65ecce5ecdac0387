"""Queries the full text index: the newest entries that contain given words, or parts of words.

The index is the database's: SQLite's FTS5 or PostgreSQL's tsvector (migration 0009).
"""

from __future__ import annotations

from django.db import connection
from django.db.models import Q

from chat.models import SearchEntry, User
from chat.models.search import make_shelf

from .query import QueryPart, SearchQuery, to_fts5, to_tsquery

# Left out: pending deletions, temporary conversations, replaced messages. SQLite reads its index from the
# newest end until the limit is reached; PostgreSQL's planner decides itself.
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
# The same without the other tables: a common word is in thousands of rows.
_SQLITE_ROWS = (
    "SELECT rowid FROM chat_searchwords WHERE chat_searchwords MATCH %s ORDER BY rowid DESC LIMIT %s"
)
_POSTGRESQL_ROWS = """
    SELECT id FROM chat_searchentry WHERE shelf = %s AND vector @@ %s::tsquery ORDER BY id DESC LIMIT %s
"""
_FIRST, _LAST = -(2**62), 2**62


def find_newest_entries(
    owner: User,
    query: SearchQuery,
    limit: int,
    *,
    titles: bool = False,
    after: int = _FIRST,
    before: int = _LAST,
) -> list[int]:
    """Return the keys of the owner's newest entries that contain all parts of a query, newest first.

    `titles` selects titles instead of messages; keys are limited to `after`..`before`. Where whole words fill
    the limit, prefixes are not searched: they rank lower, and for a common word the index has to gather many
    entries. Where the words before the prefix occur in few entries, these are filtered instead.
    """
    keys = _query_index(owner, query.whole_words, limit, titles, after, before)
    if query == query.whole_words or len(keys) >= limit:
        return keys
    *before_it, typed = query.parts
    if before_it:
        few = _query_index(owner, SearchQuery(tuple(before_it)), limit, titles, after, before)
        if len(few) < limit:
            return _filter_by_prefix(owner, typed, few)
    return sorted({*keys, *_query_index(owner, query, limit, titles, after, before)}, reverse=True)


def _filter_by_prefix(owner: User, part: QueryPart, keys: list[int]) -> list[int]:
    beginnings = [f" {' '.join(spelling)}" for spelling in part.spellings]
    rows = SearchEntry.objects.for_owner(owner).filter(pk__in=keys).values_list("pk", "words")
    there = {key for key, words in rows if any(begins in f" {words}" for begins in beginnings)}
    return [key for key in keys if key in there]


def _query_index(
    owner: User, query: SearchQuery, limit: int, titles: bool, after: int, before: int
) -> list[int]:
    shelf = make_shelf(owner.pk, titles=titles)
    if connection.vendor == "sqlite":
        sql, wanted = _SQLITE, [to_fts5(query, shelf)]
    else:
        sql, wanted = _POSTGRESQL, [shelf, to_tsquery(query)]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*wanted, after, before, owner.pk, limit])
        return [key for (key,) in cursor.fetchall()]


def find_newest_rows(owner: User, query: SearchQuery, limit: int) -> list[int]:
    """Return the keys of the entries of the owner's newest messages that contain all parts of a query.

    Among them are messages that no search may show: replaced ones, and those of temporary conversations and
    of pending deletions. The caller leaves them out.
    """
    shelf = make_shelf(owner.pk)
    if connection.vendor == "sqlite":
        sql, wanted = _SQLITE_ROWS, [to_fts5(query, shelf)]
    else:
        sql, wanted = _POSTGRESQL_ROWS, [shelf, to_tsquery(query)]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*wanted, limit])
        return [key for (key,) in cursor.fetchall()]


def find_entries_with_parts(
    owner: User, query: SearchQuery, limit: int, *, titles: bool = False
) -> list[int]:
    """Return the keys of the newest entries that contain all parts of a query, also inside of words.

    Newest first. "strasse" is found in "Heinestrasse". Nothing is found for a query with a part of fewer
    than three characters. No index helps here: the database reads the words of all entries of the owner.
    """
    if not query.anywhere:
        return []
    visible = SearchEntry.objects.for_owner(owner).filter(
        shelf=make_shelf(owner.pk, titles=titles),
        conversation__deletion=None,
        conversation__temporary=False,
        message__replaced_by=None,
    )
    for part in query.parts:
        wanted = Q()
        for spelling in part.spellings:
            wanted |= Q(words__contains=" ".join(spelling))
        visible = visible.filter(wanted)
    return list(visible.order_by("-pk").values_list("pk", flat=True)[:limit])
