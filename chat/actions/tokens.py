"""API tokens: the keys with which an owner's programs come in."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.models import ApiToken

from .messages import Refused
from .owners import hold_memory

# More than anybody's programs need, and few enough to look through.
MOST = 20
LONGEST_NAME = 80  # characters; the column's length
_NOTED_EVERY = timedelta(minutes=1)


def create_token(owner: Any, name: str) -> str:
    """Make a token and return its secret, which is shown this once and kept only as a hash.

    Raises Refused without a name, where a standing token has it, and where there are `MOST` already.
    """
    name = " ".join(name.replace("\x00", "").split())
    if not name:
        raise Refused(_("Write a name first."))
    if len(name) > LONGEST_NAME:
        raise Refused(_("A name has at most %(most)d characters.") % {"most": LONGEST_NAME})
    secret = f"mem_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        hold_memory(owner.pk)
        standing = list(ApiToken.objects.for_owner(owner).standing().values_list("name", flat=True))
        if name in standing:
            raise Refused(_("There is a token with this name already."))
        if len(standing) >= MOST:
            raise Refused(_("There are %(most)d tokens, and that is the most.") % {"most": MOST})
        ApiToken.objects.create(owner=owner, name=name, digest=ApiToken.digest_of(secret))
    return secret


def revoke_token(token: ApiToken) -> None:
    """Close the door to a token for good."""
    ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=timezone.now())


def note_use(token: ApiToken) -> None:
    """Remember that a token was used, at most once a minute: reading must not write each time."""
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at >= _NOTED_EVERY:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
