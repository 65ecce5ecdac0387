"""Tombstones: keyed hashes of deleted facts and app memories, which memory must not learn again, and of the
sentences that said them, which no prompt may quote again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

import numpy as np
from django.utils.crypto import salted_hmac
from numpy.typing import NDArray

from chat.memory.candidates import FactCandidate, RefusedFact
from chat.memory.canonical import build_canonical_value
from chat.memory.consolidate import find_repeated_fact
from chat.memory.text_similarity import normalize_text
from chat.memory.wordings import list_wordings
from chat.models import AppMemory, Deletion, Fact, Message, Tombstone, User
from chat.models.fact import FactQuerySet


def hash_fact_text(owner: User, text: str) -> str:
    """Return the HMAC-SHA256 of a fact's normalised text, keyed with the secret key and the owner."""
    return _hash_text(f"chat.tombstone.{owner.pk}", normalize_text(text))


def hash_fact_value(owner: User, kind: str, subject: str, text: str) -> set[str]:
    """Return the digest of a fact's canonical value, which its other wordings share; empty without one."""
    value = build_canonical_value(kind, subject, text)
    return {_hash_text(f"chat.tombstone.value.{owner.pk}", value)} if value else set()


def hash_sentence(owner: User, sentence: str) -> str:
    """Return the digest of a sentence that states a deleted fact. Its salt is not that of facts' digests."""
    return _hash_text(f"chat.tombstone.sentence.{owner.pk}", normalize_text(sentence))


def hash_app_memory(owner: User, content: str, keys: Iterable[Any]) -> set[str]:
    """Return the digests of an app memory: of its normalised text and of each key.

    `keys` are its own and those of its conversations. These digests never equal a fact's.
    """
    salt = f"chat.tombstone.app.{owner.pk}"
    return {_hash_text(salt, text) for text in (normalize_text(content), *map(str, keys)) if text}


def _hash_text(salt: str, text: str) -> str:
    return salted_hmac(salt, text, algorithm="sha256").hexdigest()


def hash_facts(owner: User, facts: FactQuerySet) -> set[str]:
    """Return the digests of all texts and values that facts have and have had."""
    digests = {hash_fact_text(owner, text) for text in list_wordings(facts) if normalize_text(text)}
    return digests.union(*(hash_fact_value(owner, *state) for state in facts.all_states()))


def add_tombstones(owner: User, digests: set[str], pressed_at: datetime) -> None:
    """Add a tombstone for every digest; an existing one gets the later time. In a transaction."""
    existing = Tombstone.objects.filter(owner=owner, digest__in=digests)
    known = set(existing.values_list("digest", flat=True))
    existing.filter(pressed_at__lt=pressed_at).update(pressed_at=pressed_at)
    Tombstone.objects.bulk_create(
        Tombstone(owner=owner, digest=digest, pressed_at=pressed_at) for digest in digests - known
    )


def add_app_memory_tombstones(owner: User, memories: Iterable[AppMemory], pressed_at: datetime) -> None:
    """Add tombstones for app memories, so that no import restores the text or the conversations' memories."""
    digests: set[str] = set()
    for memory in memories:
        related = memory.metadata.get("related_conversations", [])
        digests |= hash_app_memory(
            owner, memory.content, (memory.pk, memory.source_conversation_id or "", *related)
        )
    add_tombstones(owner, digests, pressed_at)


class RelearningGuard:
    """Refuses what a message must not teach: facts deleted, or pending deletion, since it was written."""

    def __init__(self, message: Message) -> None:
        self._owner = message.conversation.owner
        self._sent_at = message.said_at
        self._tombstones = Tombstone.objects.filter(owner=self._owner, pressed_at__gt=self._sent_at)
        # What an edited message takes back is no secret: it may be learned again.
        deletions = Deletion.objects.pending().filter(
            owner=self._owner, pressed_at__gt=self._sent_at, retraction__isnull=True
        )
        self._pending = list(Fact.objects.filter(deletion__in=deletions))
        self._pending_digests = set[str]().union(*deletions.values_list("digests", flat=True))
        self._is_active = bool(self._pending or self._pending_digests) or self._tombstones.exists()

    def find_objection(
        self, candidate: FactCandidate, vector: NDArray[np.float32] | None, embedder_name: str
    ) -> str:
        """Return why a candidate must not be learned from this message, or an empty string."""
        if not self._is_active:
            return ""
        values = hash_fact_value(self._owner, candidate.kind, candidate.subject, candidate.text)
        if self._is_deleted(candidate.text, values) or find_repeated_fact(
            candidate, vector, self._pending, embedder_name
        ):
            return "forgotten-since"
        return ""

    def redact_refusal(self, refusal: RefusedFact) -> RefusedFact:
        """Return a refusal, without its text if that is a deleted fact's."""
        if not self._is_active:
            return refusal
        return RefusedFact("", refusal.reason) if self._is_deleted(refusal.text) else refusal

    def _is_deleted(self, text: str, digests: Collection[str] = ()) -> bool:
        wanted = {hash_fact_text(self._owner, text), *digests}
        return bool(wanted & self._pending_digests) or self._tombstones.filter(digest__in=wanted).exists()
