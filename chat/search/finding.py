"""Finds what an owner's words stand in: titles and messages by the index, facts also by what they mean."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser

from chat.llm.registry import registry
from chat.memory.shown import shown
from chat.models import Conversation, Message, SearchEntry
from chat.topics.contents import with_contents

from . import lookup
from .meaning import Sense, matching, sense_of
from .query import Query, parse
from .scoring import BEST, fused, level
from .snippets import Piece, marked, snippet
from .words import words

# A search looks at so many of the newest messages that hold all words, and at so many titles. Where there are
# more, those with the words side by side are looked for among the next `_FURTHER` times as many.
WINDOW, TITLES = 120, 40
_FURTHER = 100
# Of long messages the beginning decides how well they answer; all of them is found.
_LOOKED_AT = 20_000  # characters
LONGEST = 500  # characters of a query


class Kind(StrEnum):
    """What was found."""

    CONVERSATION = "conversation"
    FACT = "fact"
    MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found, and why: `pieces` are plain text, which a page escapes.

    `conversation` is the one it stands in, None for a fact. `score` is above 0 and at most 1.
    """

    kind: Kind
    id: UUID
    pieces: tuple[Piece, ...]
    score: float
    when: datetime
    conversation: Conversation | None = None
    message: Message | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A page of what was found, best first; `total` is of all pages, with `many` there may be more yet."""

    hits: list[Hit]
    total: int
    many: bool


@dataclass(frozen=True, slots=True)
class _Candidate:
    kind: Kind
    id: UUID
    level: int
    when: datetime
    text: str = ""
    entry: int | None = None


def find(
    owner: Any, text: str, *, kinds: Collection[Kind] = tuple(Kind), limit: int = 30, offset: int = 0
) -> Found:
    """Return what of an owner's chats and memory answers to a text: the best first, newer ones among equals.

    All words in any order, quotes for what stands side by side, the last word may be a beginning; nothing
    that is typed is an error. Facts come also by what they mean, which another thread works out while the
    index is asked here: call it in a thread and outside a transaction. Of messages that hold very common
    words the newest `WINDOW` are ranked, and a quarter as many older ones that hold them side by side.
    """
    if owner is None or isinstance(owner, AnonymousUser) or not owner.is_authenticated:
        return Found([], 0, False)
    text = text[:LONGEST]
    query = parse(text)
    sense = sense_of(text, registry.embedder()) if query and Kind.FACT in kinds else None
    there: list[_Candidate] = []
    meant: list[_Candidate] = []
    many = False
    if query and Kind.CONVERSATION in kinds:
        there += _entries(owner, query, lookup.newest(owner, query, TITLES, titles=True))
    if query and Kind.MESSAGE in kinds:
        keys, many = _messages(owner, query)
        there += _entries(owner, query, keys)
    if query and Kind.FACT in kinds:
        said, meant = _facts(owner, text, query, sense)
        there += said
    there.sort(key=lambda one: (one.level + _LEADS[one.kind], one.when), reverse=True)
    rankings = [there, meant] if meant else [there]
    scores = fused(*([one.id for one in ranking] for ranking in rankings))
    known = {one.id: one for ranking in rankings for one in ranking}
    ranked = sorted(scores, key=lambda key: -scores[key])
    page = [known[key] for key in ranked[offset : offset + limit]]
    return Found(_hits(owner, page, scores, query), len(ranked), many)


# What a hit shows; a conversation's row may be long.
_SHOWN = (
    *(f"conversation__{name}" for name in ("owner", "app", "title", "temporary", "updated_at")),
    *(f"message__{name}" for name in ("conversation", "seq", "role", "content", "archive", "created_at")),
)
# A title is found before what was said, and what is known before it where it answers as well.
_LEADS = {Kind.CONVERSATION: BEST, Kind.FACT: 1, Kind.MESSAGE: 0}


def _messages(owner: Any, query: Query) -> tuple[list[int], bool]:
    """Return the entries to choose from; and whether there may be more."""
    keys = lookup.newest(owner, query, WINDOW)
    if len(keys) < WINDOW:
        return keys, False
    if len(query.parts) > 1:
        # Of common words the newest are not the best, and to look through all would take too long.
        oldest = keys[-1]
        after = oldest - _FURTHER * (keys[0] - oldest + 1)
        keys += lookup.newest(owner, query.as_phrase, WINDOW // 4, after=after, before=oldest - 1)
    return keys, True


def _entries(owner: Any, query: Query, keys: list[int]) -> list[_Candidate]:
    rows = SearchEntry.objects.for_owner(owner).filter(pk__in=keys)
    wanted: Any = rows.values_list(
        "pk", "message", "conversation", "words", "message__created_at", "conversation__updated_at"
    )
    found = []
    for key, message, conversation, text, said_at, updated_at in wanted:
        near = level(text[:_LOOKED_AT], query)
        if message is None:
            found.append(_Candidate(Kind.CONVERSATION, conversation, near, updated_at, entry=key))
        else:
            found.append(_Candidate(Kind.MESSAGE, message, near, said_at, entry=key))
    return found


def _facts(
    owner: Any, text: str, query: Query, sense: Sense | None
) -> tuple[list[_Candidate], list[_Candidate]]:
    """Return the facts that hold all words, and those that have to do with them, the most first.

    There are 150 at most, so they are read whole and stand in no index that could outlive them.
    """
    facts, weights = matching(owner, text, sense)
    by_id = {}
    said = []
    for fact in facts:
        near = level(" ".join(words(fact.text)), query)
        # A card leaves "User" out, and what it does not say is not found.
        near = near and level(" ".join(words(shown(fact.text))), query)
        by_id[fact.id] = one = _Candidate(Kind.FACT, fact.id, near, fact.last_seen, fact.text)
        if near:
            said.append(one)
    near_by = sorted(weights, key=lambda key: (-weights[key], -by_id[key].when.timestamp()))
    return said, [by_id[key] for key in near_by]


def _hits(owner: Any, page: list[_Candidate], scores: dict[UUID, float], query: Query) -> list[Hit]:
    """Read the page's rows and make their snippets; what was deleted since it was found is left out."""
    # By the entries, whose keys are at hand: from the owner on, SQLite would walk through all their messages.
    rows = SearchEntry.objects.for_owner(owner).select_related("conversation", "message").only(*_SHOWN)
    entries = rows.in_bulk([one.entry for one in page if one.entry is not None])
    with_contents(entry.message for entry in entries.values() if entry.message is not None)
    hits = []
    for one in page:
        if one.kind == Kind.FACT:
            hits.append(Hit(one.kind, one.id, marked(shown(one.text), query), scores[one.id], one.when))
        elif (entry := entries.get(one.entry)) is not None:
            chat, message = entry.conversation, entry.message
            pieces = snippet(message.content, query) if message else marked(str(chat), query)
            hits.append(Hit(one.kind, one.id, pieces, scores[one.id], one.when, chat, message))
    return hits
