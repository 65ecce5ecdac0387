"""API tokens: the secrets with which an owner's programs authenticate."""

from __future__ import annotations

import base64
import logging
import secrets
from datetime import timedelta

from django.db import OperationalError, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from chat.errors import Refused
from chat.models import ApiToken, User

from .owners import lock_memory

logger = logging.getLogger(__name__)

# Few enough to review in a list.
MAX_TOKENS = 20
LONGEST_NAME = 80  # characters; the column's length
_NOTED_EVERY = timedelta(minutes=1)


def create_token(owner: User, name: str) -> str:
    """Create a token and return its secret, which is shown once and stored only as a hash.

    Raises Refused when the name is empty, too long or in use, and when `MAX_TOKENS` tokens exist.
    """
    name = " ".join(name.replace("\x00", "").split())
    if not name:
        raise Refused("name-empty")
    if len(name) > LONGEST_NAME:
        raise Refused("name-too-long", most=LONGEST_NAME)
    secret = f"mem_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        lock_memory(owner.pk)
        _keep(owner, name, secret)
    return secret


def ensure_shared_token(owner: User, name: str) -> str:
    """Return the secret of the token that this installation's own programs share; create a missing token.

    The secret is derived from the installation's secret key, so it is stored nowhere. A revoked token
    stays revoked. Raises Refused when it was revoked, when another token has the name, and when
    `MAX_TOKENS` tokens exist.
    """
    # The salt is a fixed string: another one would change the secrets of existing installations.
    derived = salted_hmac("chat.actions.tokens.own_token", f"{owner.pk} {name}", algorithm="sha256").digest()
    secret = f"mem_{base64.urlsafe_b64encode(derived).rstrip(b'=').decode()}"
    with transaction.atomic():
        lock_memory(owner.pk)
        known = ApiToken.objects.for_owner(owner).filter(digest=ApiToken.digest_of(secret)).first()
        if known is None:
            _keep(owner, name, secret)
        elif known.revoked_at is not None:
            raise Refused("token-revoked", name=name)
    return secret


def _keep(owner: User, name: str, secret: str) -> None:
    standing = list(ApiToken.objects.for_owner(owner).unrevoked().values_list("name", flat=True))
    if name in standing:
        raise Refused("token-name-taken")
    if len(standing) >= MAX_TOKENS:
        raise Refused("tokens-all-used", most=MAX_TOKENS)
    ApiToken.objects.create(owner=owner, name=name, digest=ApiToken.digest_of(secret))


def revoke_token(token: ApiToken) -> None:
    """Revoke a token for good; does nothing when it is revoked already."""
    ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=timezone.now())


def record_use(token: ApiToken) -> None:
    """Store when a token was used (wall clock), at most once a minute, so that reading requests rarely write.

    A database error is logged and not raised: the time is stored with the next use.
    """
    now = timezone.now()
    if token.last_used_at is not None and now - token.last_used_at < _NOTED_EVERY:
        return
    try:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    except OperationalError:
        logger.warning("could not store when a token was used", exc_info=True)
