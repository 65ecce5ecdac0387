"""How memory knows what it must not learn again, without keeping it: keyed hashes (design §3, §5)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import numpy as np
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from chat.memory.consolidate import repeated
from chat.memory.extract import Candidate, Refusal
from chat.memory.similar import normalise
from chat.models import AppMemory, DeletionState, Fact, Message, Tombstone


def digest_of(owner: Any, text: str) -> str:
    """Return the HMAC-SHA256 of a text's normal form, keyed with the secret key and bound to the owner."""
    return _hash(f"chat.tombstone.{owner.pk}", normalise(text))


def digests_told(owner: Any, content: str, keys: Iterable[Any]) -> set[str]:
    """Return the digests by which something that an app remembered is known: its words and these keys.

    `keys` are its own and those of the conversations that it tells of. They are no digests of a fact.
    """
    salt = f"chat.tombstone.app.{owner.pk}"
    return {_hash(salt, said) for said in (normalise(content), *map(str, keys)) if said}


def _hash(salt: str, said: str) -> str:
    return salted_hmac(salt, said, algorithm="sha256").hexdigest()


def bury(owner: Any, wordings: Iterable[str], pressed_at: datetime) -> None:
    """Leave a tombstone for every wording; one that is there keeps the later press. In a transaction."""
    _bury(owner, {digest_of(owner, text) for text in wordings if normalise(text)}, pressed_at)


def bury_told(owner: Any, memories: Iterable[AppMemory], pressed_at: datetime) -> None:
    """Do that for what apps remembered: no file brings it back, in these words or of these conversations."""
    digests: set[str] = set()
    for memory in memories:
        related = memory.metadata.get("related_conversations", [])
        digests |= digests_told(
            owner, memory.content, (memory.pk, memory.source_conversation_id or "", *related)
        )
    _bury(owner, digests, pressed_at)


def _bury(owner: Any, digests: set[str], pressed_at: datetime) -> None:
    mine = Tombstone.objects.filter(owner=owner, digest__in=digests)
    known = set(mine.values_list("digest", flat=True))
    mine.filter(pressed_at__lt=pressed_at).update(pressed_at=pressed_at)
    Tombstone.objects.bulk_create(
        Tombstone(owner=owner, digest=digest, pressed_at=pressed_at) for digest in digests - known
    )


class Gate:
    """What one message must not teach: all that was forgotten, or is on its way out, since it was written."""

    def __init__(self, message: Message) -> None:
        self._owner = message.conversation.owner
        self._said_at = message.created_at
        self._stones = Tombstone.objects.filter(owner=self._owner, pressed_at__gt=self._said_at)
        self._pending = list(
            Fact.objects.filter(
                owner=self._owner,
                deletion__state=DeletionState.PENDING,
                deletion__pressed_at__gt=self._said_at,
            )
        )
        # Earlier wordings too, which no tombstone knows yet.
        leaving = Fact.objects.filter(pk__in=[fact.pk for fact in self._pending])
        self._leaving = {normalise(text) for text in leaving.wordings()} if self._pending else set()
        self._any = bool(self._pending) or self._stones.exists()

    def against(self, candidate: Candidate, vector: NDArray[np.float32] | None, embedder_name: str) -> str:
        """Return why a candidate must not be learned from this message, or an empty string."""
        if not self._any:
            return ""
        if self._knows(candidate.text) or repeated(candidate, vector, self._pending, embedder_name):
            return _("You asked to forget this after you wrote it.")
        return ""

    def cover(self, refusal: Refusal) -> Refusal:
        """Return a refusal without its text where that is a forgotten fact's."""
        if not self._any:
            return refusal
        return Refusal("", refusal.reason) if self._knows(refusal.text) else refusal

    def _knows(self, text: str) -> bool:
        if normalise(text) in self._leaving:
            return True
        return self._stones.filter(digest=digest_of(self._owner, text)).exists()
