"""Optimistic locking: compares a row with what the caller has read, and changes it in one transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import transaction

from chat.errors import VersionConflict
from chat.models import User

from .owners import lock_memory

T = TypeVar("T")


def fingerprint(*parts: Any) -> str:
    """Return a short hash of these values; it changes when one of them changes."""
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:20]


@contextmanager
def lock_if_unchanged(
    owner: User, read: Callable[[], T], mark_of: Callable[[T], str], seen: Collection[str]
) -> Iterator[T]:
    """Yield what `read` returns, locked for a change inside this context; raises ChangedMeanwhile.

    `seen` are the fingerprints that the caller accepts; an empty collection accepts any.
    """
    with transaction.atomic():
        # Lock before reading, because two programs may hold the same fingerprint.
        lock_memory(owner.pk)
        row = read()
        require_fingerprint(row, mark_of, seen)
        yield row


def require_fingerprint(row: T, mark_of: Callable[[T], str], seen: Collection[str]) -> None:
    """Raise ChangedMeanwhile when a row has none of the fingerprints that the caller accepts."""
    if seen and mark_of(row) not in seen:
        raise VersionConflict("version-conflict")
