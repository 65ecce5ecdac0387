"""Operations on several facts at once: pin, move to a category, store vectors. All or nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from chat.errors import Refused
from chat.memory.kinds import KINDS
from chat.memory.subjects import extract_subject
from chat.models import Category, Fact, FactEvent, FactEventKind, User

from . import events, graph
from .fact_events import USER, build_event, snapshot
from .facts import MAX_PINNED, choose_kind_in_category, queue_classification
from .owners import lock_memory
from .supersession import keep_one_value

EMBEDDING_BATCH = 50  # facts; at most half a second of embedding


def pin_facts(owner: User, ids: Collection[UUID], pinned: bool) -> int:
    """Pin or unpin live facts; returns how many changed.

    Pinned facts pending deletion count towards the limit of ten. Raises Refused, and changes nothing,
    when they do not all fit or none of them is live.
    """
    with transaction.atomic():
        chosen = [fact for fact in _lock_live(owner, ids) if fact.pinned != pinned]
        free = MAX_PINNED - Fact.objects.filter(owner=owner, pinned=True).count()
        if pinned and len(chosen) > free:
            raise Refused("pins-too-few", most=MAX_PINNED, left=max(0, free))
        before = [snapshot(fact) for fact in chosen]
        for fact in chosen:
            fact.pinned = pinned
        kind = FactEventKind.PIN if pinned else FactEventKind.UNPIN
        _save_with_events(owner, chosen, ["pinned"], kind, before)
    return len(chosen)


def move_facts(owner: User, ids: Collection[UUID], category: str) -> int:
    """Move live facts to another category and return how many changed; their text stays.

    A fact that becomes another value of a single-valued kind supersedes the existing one. Raises Refused
    for an unknown category, or when none of the facts is live.
    """
    if category not in Category.values:
        raise Refused("category-unknown")
    with transaction.atomic():
        chosen = [fact for fact in _lock_live(owner, ids) if fact.category != category]
        before = [snapshot(fact) for fact in chosen]
        for fact in chosen:
            fact.category, fact.version = category, fact.version + 1
            if KINDS[fact.kind].category != category:
                fact.kind = choose_kind_in_category(fact.kind, fact.text, category)
            fact.subject = extract_subject(fact.kind, fact.text)
        _save_with_events(
            owner, chosen, ["category", "kind", "subject", "version"], FactEventKind.EDIT, before
        )
        for fact in chosen:
            graph.sync_fact(fact)
            if fact.embedding is None:
                queue_classification(fact)  # a queued classification is for the previous version
        _keep_one_value_each(chosen)
    return len(chosen)


def are_all_pinned(owner: User, ids: Collection[UUID]) -> bool:
    """Return whether all of these facts that are live are pinned."""
    return not Fact.objects.for_owner(owner).live().filter(pk__in=ids, pinned=False).exists()


def _keep_one_value_each(facts: list[Fact]) -> None:
    """Keep one live value of each single-valued kind of these facts: the one mentioned last."""
    for fact in sorted(facts, key=lambda f: f.last_seen, reverse=True):
        # A fact that was just superseded by another of the batch must not supersede that one in turn.
        if KINDS[fact.kind].single and Fact.objects.live().filter(pk=fact.pk).exists():
            keep_one_value(fact, USER, "put on the shelf of its kind", newest=True)


def _lock_live(owner: User, ids: Collection[UUID]) -> list[Fact]:
    """Return these facts as far as they are live, row-locked. Raises Refused when none is."""
    lock_memory(owner.pk)
    rows = Fact.objects.for_owner(owner).live().filter(pk__in=ids)
    found = list(rows.select_for_update(of=("self",)).select_related("owner").order_by("pk"))
    if not found:
        raise Refused("facts-gone")
    return found


def _save_with_events(
    owner: User, facts: list[Fact], fields: list[str], kind: FactEventKind, before: list[dict[str, Any]]
) -> None:
    Fact.objects.bulk_update(facts, fields)
    FactEvent.objects.bulk_create(
        build_event(fact, kind, USER, before=was) for fact, was in zip(facts, before, strict=True)
    )
    events.send_on_commit(owner.pk, "facts")


def find_outdated_embeddings(embedder_name: str) -> list[Fact]:
    """Return up to `EMBEDDING_BATCH` facts without a vector of this embedder, not only live ones."""
    rows = Fact.objects.exclude(embedder=embedder_name).filter(deletion__isnull=True)
    return list(rows.only("text", "kind", "quote", "origin", "durability").order_by("pk")[:EMBEDDING_BATCH])


def store_embeddings(
    facts: Sequence[Fact], vectors: Sequence[NDArray[np.float32]], embedder_name: str
) -> None:
    """Store the durability of each fact and its float32 vector of shape (dimensions,).

    A fact that no longer has the embedded text is left as it is.
    """
    with transaction.atomic():
        now = dict(Fact.objects.filter(pk__in=[fact.pk for fact in facts]).values_list("pk", "text"))
        current = []
        for fact, vector in zip(facts, vectors, strict=True):
            if now.get(fact.pk) == fact.text:
                fact.embedding, fact.embedder = vector.astype(np.float32).tobytes(), embedder_name
                current.append(fact)
        Fact.objects.bulk_update(current, ["embedding", "embedder", "durability"])
