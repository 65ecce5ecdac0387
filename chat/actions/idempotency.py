"""Idempotency keys: a repeated request returns what the first one created.

The result is stored in the transaction that created it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from chat.errors import IdempotencyKeyReused
from chat.models import IdempotentRequest, User

# Long enough for a program to retry after any outage that it would wait for.
KEPT_FOR = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CreatedObjects:
    """The ids that a request created and its HTTP status; `again` when an earlier request created them."""

    ids: Sequence[str]
    status: int = 201
    again: bool = False


def run_once(
    owner: User, key: str, request: bytes, make: Callable[[], CreatedObjects], *, anew: bool = False
) -> CreatedObjects:
    """Return what `make` creates, or what it created in an earlier request with this key; "" is no key.

    `request` are the bytes that identify the request; only their hash is stored. With `anew` an earlier
    use of the key is discarded. `make` runs in the same transaction, so a killed process has done both or
    nothing. Raises KeyReused when the key came with another request.
    """
    if not key:
        return make()
    digest = hash_request(request)
    with transaction.atomic():
        mine = IdempotentRequest.objects.for_owner(owner)
        before = timezone.now() if anew else timezone.now() - KEPT_FOR
        mine.filter(key=key, created_at__lte=before).delete()
        row, first = IdempotentRequest.objects.get_or_create(
            owner=owner, key=key, defaults={"digest": digest}
        )
        if row.digest != digest:
            raise IdempotencyKeyReused("idempotency-key-reused")
        if not first:
            return CreatedObjects(row.made, row.status, again=True)
        made = make()
        row.made, row.status = [str(pk) for pk in made.ids], made.status
        row.save(update_fields=["made", "status"])
    return made


def hash_request(request: bytes) -> str:
    """Return the keyed hash that identifies a request."""
    return salted_hmac("chat.idempotency", request, algorithm="sha256").hexdigest()


def replace_created_ids(owner: User, key: str, ids: Sequence[str]) -> None:
    """Replace the ids stored for a key; in the transaction that created the new ones."""
    IdempotentRequest.objects.for_owner(owner).filter(key=key).update(made=list(ids))


def shorten_retention(owner: User, key: str, soon: timedelta) -> None:
    """Let a finished key expire within `soon` from now."""
    begun = timezone.now() - KEPT_FOR + soon
    IdempotentRequest.objects.for_owner(owner).filter(key=key, created_at__gt=begun).update(created_at=begun)


def delete_expired(now: datetime) -> int:
    """Delete all owners' keys that are at least a day old; returns how many."""
    return IdempotentRequest.objects.filter(created_at__lte=now - KEPT_FOR).delete()[0]
