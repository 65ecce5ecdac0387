"""Changing only what the caller has seen: the comparison and the change in one transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import transaction
from django.utils.translation import gettext as _

from .messages import Refused
from .owners import hold_memory

T = TypeVar("T")


class ChangedMeanwhile(Refused):
    """It is not as the caller saw it; nothing was changed."""


def mark(*parts: Any) -> str:
    """Return a short mark of these values: another one as soon as one of them is another."""
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:20]


@contextmanager
def unchanged(
    owner: Any, read: Callable[[], T], mark_of: Callable[[T], str], seen: Collection[str]
) -> Iterator[T]:
    """Give what `read` returns, for a change inside this context; raises ChangedMeanwhile.

    `seen` are the marks that the caller would accept, none where any will do.
    """
    with transaction.atomic():
        # First of all, as in every verb: two programs may hold the same mark.
        hold_memory(owner.pk)
        row = read()
        compare(row, mark_of, seen)
        yield row


def compare(row: T, mark_of: Callable[[T], str], seen: Collection[str]) -> None:
    """Raise ChangedMeanwhile where a row has none of the marks that the caller would accept."""
    if seen and mark_of(row) not in seen:
        raise ChangedMeanwhile(_("This has changed since you read it. Read it again first."))
