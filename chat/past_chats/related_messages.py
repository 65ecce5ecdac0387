"""Finds messages of past conversations for people and programs, by meaning and by any of a text's words."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from chat.actions.owners import settings_of
from chat.llm.registry import registry
from chat.models import App, Conversation, User
from chat.models.conversation import ConversationQuerySet
from chat.search.matches import mark_matches
from chat.search.query import parse_query
from chat.search.search import LONGEST, Hit, HitKind

from .ranking import RankedSentence, list_usable_conversations, rank_sentences, rerank_sentences

# Messages that a search shows beside those with its words.
MOST_RELATED = 10
# The least cosine of a related message. Of 60 searches in two languages that words do not find
# (`tests/benchmarks/related_search.py`), 46 find a message that was meant, among eight on average.
_LEAST_COSINE = 0.1


def find_related_messages(
    owner: User, text: str, without: Collection[Any] = (), most: int = MOST_RELATED
) -> list[Hit]:
    """Return the messages of an owner that mean something similar to a text, the best first.

    The messages `without` (keys) are left out, and nothing is found for a text without words. A question is
    found by any of its words too. Nothing is found without an embedder. Embeds the text, so call it outside a
    transaction.
    """
    text = text[:LONGEST]
    query = parse_query(text)
    if not query:
        return []
    listed = Conversation.objects.for_owner(owner).listed()
    best: dict[Any, RankedSentence] = {}
    for one in _rank(owner, listed, text, with_cleared=True):
        if one.message.pk not in without and one.cosine >= _LEAST_COSINE:
            best.setdefault(one.message.pk, one)
    chosen = list(best.values())[:most]
    chats = Conversation.objects.in_bulk({one.message.conversation_id for one in chosen})
    return [
        Hit(
            kind=HitKind.MESSAGE,
            id=one.message.pk,
            pieces=mark_matches(one.text, query),
            score=1 / place,
            when=one.message.created_at,
            conversation=chats[one.message.conversation_id],
            message=one.message,
        )
        for place, one in enumerate(chosen, 1)
        if one.message.conversation_id in chats
    ]


def recall_sentences(owner: User, app: App, question: str, most: int) -> list[RankedSentence]:
    """Return the sentences of an app's past conversations that fit a question best.

    The same rules hold as for quotations in a prompt; nothing is returned where the owner has switched these
    off. Embeds the question, so call it outside a transaction.
    """
    if not settings_of(owner.pk).use_past_chats:
        return []
    return _rank(owner, list_usable_conversations(owner, app), question)[:most]


def _rank(
    owner: User, conversations: ConversationQuerySet, text: str, **options: bool
) -> list[RankedSentence]:
    embedder = registry.embedder()
    if embedder is None or not text.strip():
        return []
    try:
        vector = embedder.embed([text])[0]
        ranked = rank_sentences(owner, conversations, text, embedder.name, vector, **options)
        return rerank_sentences(ranked, embedder, vector)
    except OSError:
        # The embedder was removed since it was found.
        return []
