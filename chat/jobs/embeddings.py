"""Embeds what has no vector of the present embedder, and classifies facts that were added by hand."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from django.utils import timezone

from chat.actions import fact_bulk, facts, graph, message_windows, topic_vectors
from chat.actions.usage import account_calls
from chat.generation import run as generation
from chat.llm.registry import registry
from chat.memory.classify import classify_fact
from chat.memory.durability import judge_durability
from chat.models import Fact, Origin

from . import schedule
from .registry import Postpone, handles

# How long the indexing of past conversations runs at a time.
INDEXING_SECONDS = 20.0
_AFTER_REPLY = timedelta(seconds=3)


@handles("settle")
def settle_fact(payload: dict[str, Any]) -> None:
    """Let the model classify a fact that was added by hand, and store its embedding."""
    fact = Fact.objects.filter(pk=payload["fact"], version=payload["version"]).first()
    if fact is None:
        return
    kind, subject = fact.kind, fact.subject
    if facts.has_guessed_kind(fact):
        with account_calls(registry.provider(), fact.owner_id, "classify") as provider:
            kind, _, subject = classify_fact(provider, fact.text)
    embedder = registry.embedder()
    vector = embedder.embed([fact.text])[0].tobytes() if embedder else None
    facts.store_classification(
        fact.pk,
        payload["version"],
        kind=kind,
        subject=subject,
        vector=vector,
        embedder=embedder.name if embedder else "",
    )


@handles("reindex", model=False)
def reindex(payload: dict[str, Any]) -> None:
    """Embed all facts, entities and topics that have no vector, or a vector of another embedder.

    A fact gets its durability here too, if memory has not judged yet how long it will matter.
    """
    embedder = registry.embedder()
    if embedder is None:
        return
    while stale := fact_bulk.find_outdated_embeddings(embedder.name):
        vectors = embedder.embed([fact.text for fact in stale] + [fact.quote for fact in stale])
        text_vectors, quote_vectors = vectors[: len(stale)], vectors[len(stale) :]
        for fact, text, quote in zip(stale, text_vectors, quote_vectors, strict=True):
            if fact.origin == Origin.EXTRACTED and fact.quote and not fact.durability:
                fact.durability = judge_durability(text, quote, embedder.name)
        fact_bulk.store_embeddings(stale, list(text_vectors), embedder.name)
    while entities := graph.find_entities_without_vector(embedder.name):
        names = list(embedder.embed([entity.name for entity in entities]))
        graph.store_entity_vectors(entities, names, embedder.name)
    while topics := topic_vectors.find_outdated_topics(embedder.name):
        topic_vectors.embed_topics(topics, lambda texts: list(embedder.embed(texts)), embedder.name)


@handles("index_windows", slow=True, model=False, again=schedule.next_sweep)
def index_windows(payload: dict[str, Any]) -> None:
    """Add the messages to the index of past conversations that are not in it.

    Raises Postpone while a reply is being written, and after INDEXING_SECONDS, so that other jobs of its
    thread can run.
    """
    embedder = registry.embedder()
    began = time.monotonic()
    message_windows.drop_outdated_windows(embedder.name if embedder else "")
    for key in message_windows.find_conversations_without_windows():
        more = True
        while more:
            if generation.count_running():
                raise Postpone(timezone.now() + _AFTER_REPLY)
            if time.monotonic() - began > INDEXING_SECONDS:
                raise Postpone(timezone.now())
            more = message_windows.index_portion(key, embedder) > 0
