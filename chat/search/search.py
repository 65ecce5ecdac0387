"""Searches an owner's data: titles and messages by the full text index, facts also by their embeddings."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser

from chat.llm.registry import registry
from chat.memory.formatting import format_for_display
from chat.models import Conversation, Message, SearchEntry, User
from chat.topics.contents import load_contents

from .index import find_entries_with_parts, find_newest_entries
from .matches import BEST, Piece, fuse_rankings, make_snippet, mark_matches, match_level
from .query import SearchQuery, parse_query
from .semantic import PendingVector, match_facts, start_embedding
from .words import split_words

# The numbers of newest messages and titles that a search ranks. Where more messages match, those with
# adjacent words are searched among the next `_FURTHER` times as many.
WINDOW, TITLES = 120, 40
_FURTHER = 100
# Only the beginning of a long message is used for its rank; the whole text is searched.
_LOOKED_AT = 20_000  # characters
# Where fewer messages or titles match, those with the query's words as parts of longer words follow them.
_FEW = 30
LONGEST = 500  # characters of a query


class HitKind(StrEnum):
    """The kinds of search results."""

    CONVERSATION = "conversation"
    FACT = "fact"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Hit:
    """One search result. `pieces` are plain text, which a page must escape.

    `conversation` is the conversation it belongs to, None for a fact. `score` is above 0 and at most 1.
    """

    kind: HitKind
    id: UUID
    pieces: tuple[Piece, ...]
    score: float
    when: datetime
    conversation: Conversation | None = None
    message: Message | None = None


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of results, best first.

    `total` counts all pages; `many` means that there may be more results than that.
    """

    hits: list[Hit]
    total: int
    many: bool


@dataclass(frozen=True, slots=True)
class _Candidate:
    kind: HitKind
    id: UUID
    level: int
    when: datetime
    text: str = ""
    entry: int | None = None


def find(
    owner: User | AnonymousUser | None,
    text: str,
    *,
    kinds: Collection[HitKind] = tuple(HitKind),
    limit: int = 30,
    offset: int = 0,
) -> SearchPage:
    """Search an owner's conversations, messages and facts; return the best first, newer ones first among
    equals.

    All words must occur, in any order; quotes require adjacent words; the last word may be a prefix, and all
    may be parts of words where little else is found. Any text is valid. Facts are also found by their
    meaning, whose vector another thread computes while the index is queried: call it in a worker thread and
    outside a transaction. For very common words the newest `WINDOW` messages are ranked, and a quarter as
    many older ones with adjacent words.
    """
    if owner is None or isinstance(owner, AnonymousUser) or not owner.is_authenticated:
        return SearchPage([], 0, False)
    text = text[:LONGEST]
    query = parse_query(text)
    sense = start_embedding(text, registry.embedder()) if query and HitKind.FACT in kinds else None
    there: list[_Candidate] = []
    meant: list[_Candidate] = []
    many = False
    if query and HitKind.CONVERSATION in kinds:
        keys = find_newest_entries(owner, query, TITLES, titles=True)
        there += _rank_entries(owner, query, _add_parts(owner, query, keys, titles=True))
    if query and HitKind.MESSAGE in kinds:
        keys, many = _find_messages(owner, query)
        there += _rank_entries(owner, query, keys)
    if query and HitKind.FACT in kinds:
        said, meant = _rank_facts(owner, text, query, sense)
        there += said
    there.sort(key=lambda one: (one.level + _LEADS[one.kind], one.when), reverse=True)
    rankings = [there, meant] if meant else [there]
    scores = fuse_rankings(*([one.id for one in ranking] for ranking in rankings))
    known = {one.id: one for ranking in rankings for one in ranking}
    ranked = sorted(scores, key=lambda key: -scores[key])
    page = [known[key] for key in ranked[offset : offset + limit]]
    return SearchPage(_build_hits(owner, page, scores, query), len(ranked), many)


# The columns that a result needs; conversations have large columns.
_SHOWN = (
    *(f"conversation__{name}" for name in ("owner", "app", "title", "temporary", "updated_at")),
    *(f"message__{name}" for name in ("conversation", "seq", "role", "content", "archive", "created_at")),
)
# Added to the match level: titles rank before messages, and facts before messages that match equally well.
_LEADS = {HitKind.CONVERSATION: BEST, HitKind.FACT: 1, HitKind.MESSAGE: 0}


def _find_messages(owner: User, query: SearchQuery) -> tuple[list[int], bool]:
    """Return the keys of the entries to rank, and whether there may be more."""
    keys = find_newest_entries(owner, query, WINDOW)
    if len(keys) < WINDOW:
        more = _add_parts(owner, query, keys)
        return more, len(more) - len(keys) >= _FEW - len(keys) > 0
    if len(query.parts) > 1:
        # For common words the newest messages are not the best ones, and ranking all would take too long.
        oldest = keys[-1]
        after = oldest - _FURTHER * (keys[0] - oldest + 1)
        keys += find_newest_entries(owner, query.as_phrase, WINDOW // 4, after=after, before=oldest - 1)
    return keys, True


def _add_parts(owner: User, query: SearchQuery, keys: list[int], *, titles: bool = False) -> list[int]:
    """Return the keys, followed by entries with the query's words as parts of words where there are few."""
    if len(keys) >= _FEW:
        return keys
    there = set(keys)
    parts = find_entries_with_parts(owner, query, _FEW, titles=titles)
    return keys + [key for key in parts if key not in there]


def _rank_entries(owner: User, query: SearchQuery, keys: list[int]) -> list[_Candidate]:
    rows = SearchEntry.objects.for_owner(owner).filter(pk__in=keys)
    wanted: Any = rows.values_list(
        "pk", "message", "conversation", "words", "message__created_at", "conversation__updated_at"
    )
    found = []
    for key, message, conversation, text, said_at, updated_at in wanted:
        near = match_level(text[:_LOOKED_AT], query)
        if message is None:
            found.append(_Candidate(HitKind.CONVERSATION, conversation, near, updated_at, entry=key))
        else:
            found.append(_Candidate(HitKind.MESSAGE, message, near, said_at, entry=key))
    return found


def _rank_facts(
    owner: User, text: str, query: SearchQuery, sense: PendingVector | None
) -> tuple[list[_Candidate], list[_Candidate]]:
    """Return the facts that contain all words, and the related facts in order of relevance.

    An owner has at most 150 facts, so all are read; they are not in the index, which could keep their words
    after a deletion.
    """
    facts, weights = match_facts(owner, text, sense)
    by_id = {}
    said = []
    for fact in facts:
        near = match_level(" ".join(split_words(fact.text)), query)
        # The page displays facts without the leading "User", so this word alone must not match.
        near = near and match_level(" ".join(split_words(format_for_display(fact.text))), query)
        by_id[fact.id] = one = _Candidate(HitKind.FACT, fact.id, near, fact.last_seen, fact.text)
        if near:
            said.append(one)
    near_by = sorted(weights, key=lambda key: (-weights[key], -by_id[key].when.timestamp()))
    return said, [by_id[key] for key in near_by]


def _build_hits(
    owner: User, page: list[_Candidate], scores: dict[UUID, float], query: SearchQuery
) -> list[Hit]:
    """Load the rows of a page and build their snippets. Rows that were deleted meanwhile are left out."""
    # Loaded by the entries' keys: a query that starts from the owner would make SQLite read all their
    # messages.
    rows = SearchEntry.objects.for_owner(owner).select_related("conversation", "message").only(*_SHOWN)
    entries = rows.in_bulk([one.entry for one in page if one.entry is not None])
    load_contents(entry.message for entry in entries.values() if entry.message is not None)
    hits = []
    for one in page:
        if one.kind == HitKind.FACT:
            hits.append(
                Hit(
                    one.kind,
                    one.id,
                    mark_matches(format_for_display(one.text), query),
                    scores[one.id],
                    one.when,
                )
            )
        elif (entry := entries.get(one.entry)) is not None:
            chat, message = entry.conversation, entry.message
            pieces = make_snippet(message.content, query) if message else mark_matches(str(chat), query)
            hits.append(Hit(one.kind, one.id, pieces, scores[one.id], one.when, chat, message))
    return hits
