"""Creating once, however often a program asks: what was made is noted in the transaction that made it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from chat.models import IdempotentRequest

from .messages import Refused

# Long enough for a program to try again after any outage that it would wait for.
KEPT_FOR = timedelta(days=1)


class KeyReused(Refused):
    """The key came with another request before."""


@dataclass(frozen=True, slots=True)
class Made:
    """The keys of what a request made and the status to tell it with; `again` where it was made before."""

    ids: Sequence[str]
    status: int = 201
    again: bool = False


def once(owner: Any, key: str, request: bytes, make: Callable[[], Made], *, anew: bool = False) -> Made:
    """Return what `make` made, now or, with a key that came before, then; "" is no key.

    `request` are the bytes that tell one request from another; what is kept is their hash. With `anew` the
    key begins again, whatever it made before. One transaction with whatever `make` does: a killed process has
    done both or nothing. Raises KeyReused.
    """
    if not key:
        return make()
    digest = digest_of(request)
    with transaction.atomic():
        mine = IdempotentRequest.objects.for_owner(owner)
        before = timezone.now() if anew else timezone.now() - KEPT_FOR
        mine.filter(key=key, created_at__lte=before).delete()
        row, first = IdempotentRequest.objects.get_or_create(
            owner=owner, key=key, defaults={"digest": digest}
        )
        if row.digest != digest:
            raise KeyReused(_("This Idempotency-Key came with another request before. Use a new one."))
        if not first:
            return Made(row.made, row.status, again=True)
        made = make()
        row.made, row.status = [str(pk) for pk in made.ids], made.status
        row.save(update_fields=["made", "status"])
    return made


def digest_of(request: bytes) -> str:
    """Return the keyed hash of what tells one request from another."""
    return salted_hmac("chat.idempotency", request, algorithm="sha256").hexdigest()


def renew(owner: Any, key: str, ids: Sequence[str]) -> None:
    """Note what took the place of what a key made before; in the transaction that made it."""
    IdempotentRequest.objects.for_owner(owner).filter(key=key).update(made=list(ids))


def let_go(owner: Any, key: str, soon: timedelta) -> None:
    """Let a key that came to its end hold for no longer than `soon` from now."""
    begun = timezone.now() - KEPT_FOR + soon
    IdempotentRequest.objects.for_owner(owner).filter(key=key, created_at__gt=begun).update(created_at=begun)


def sweep(now: datetime) -> int:
    """Delete what is a day old, of everybody; returns how many."""
    return IdempotentRequest.objects.filter(created_at__lte=now - KEPT_FOR).delete()[0]
