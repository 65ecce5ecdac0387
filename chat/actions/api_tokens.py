"""API tokens: the secrets with which an owner's programs authenticate."""

from __future__ import annotations

import base64
import logging
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import OperationalError, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from chat.errors import Refused
from chat.models import ApiToken, Scope, User

from .owners import lock_memory

logger = logging.getLogger(__name__)

# Few enough to review in a list.
MAX_TOKENS = 20
LONGEST_NAME = 80  # characters; the column's length
_NOTED_EVERY = timedelta(minutes=1)
_ALL_SCOPES = tuple(Scope)
# The ends that the page offers, in days; 0 for a token without an end.
ENDS = (30, 90, 365, 0)
DEFAULT_END = 365


def create_token(
    owner: User,
    name: str,
    scopes: Collection[str] = _ALL_SCOPES,
    *,
    expires_at: datetime | None = None,
) -> str:
    """Create a token and return its secret, which is shown once and stored only as a hash.

    Raises Refused when the name is empty, too long or in use, without a scope or with an unknown one, and
    when `MAX_TOKENS` tokens exist.
    """
    name = " ".join(name.replace("\x00", "").split())
    if not name:
        raise Refused("name-empty")
    if len(name) > LONGEST_NAME:
        raise Refused("name-too-long", most=LONGEST_NAME)
    chosen = _clean_scopes(scopes)
    secret = f"mem_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        lock_memory(owner.pk)
        _keep(owner, name, secret, chosen, expires_at)
    return secret


def parse_end(days: str, now: datetime) -> datetime | None:
    """Return when a token ends that is made now for one of the `ENDS`; None for 0. Raises Refused."""
    if days not in map(str, ENDS):
        raise Refused("token-end-unknown")
    return now + timedelta(days=int(days)) if int(days) else None


def narrow_token(token: ApiToken, scopes: Collection[str]) -> list[str]:
    """Take away all scopes but these from a token; return those that it keeps.

    It never adds a scope: whoever has copied the secret would get that scope too. Raises Refused where no
    scope would be left, and for an unknown scope.
    """
    with transaction.atomic():
        lock_memory(token.owner_id)
        stored = ApiToken.objects.for_owner(token.owner).unrevoked().get(pk=token.pk)
        kept = [scope for scope in _clean_scopes(scopes) if stored.allows([scope])]
        if not kept:
            raise Refused("token-scopes-empty")
        stored.scopes = kept
        stored.save(update_fields=["scopes"])
    return kept


def _clean_scopes(scopes: Collection[str]) -> list[str]:
    """Return the scopes in the order of the enum Scope. Raises Refused for none and for an unknown one."""
    if not set(scopes) <= set(Scope.values):
        raise Refused("token-scope-unknown")
    if not scopes:
        raise Refused("token-scopes-empty")
    return [scope.value for scope in Scope if scope in scopes]


def ensure_shared_token(owner: User, name: str, scopes: Collection[str]) -> str:
    """Return the secret of the token that this installation's own programs share; create a missing token.

    The scopes are those of a created token; an existing one keeps its own.

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
            _keep(owner, name, secret, _clean_scopes(scopes), None)
        elif known.revoked_at is not None:
            raise Refused("token-revoked", name=name)
    return secret


def _keep(owner: User, name: str, secret: str, scopes: list[str], expires_at: datetime | None) -> None:
    standing = list(ApiToken.objects.for_owner(owner).unrevoked().values_list("name", flat=True))
    if name in standing:
        raise Refused("token-name-taken")
    if len(standing) >= MAX_TOKENS:
        raise Refused("tokens-all-used", most=MAX_TOKENS)
    ApiToken.objects.create(
        owner=owner, name=name, digest=ApiToken.digest_of(secret), scopes=scopes, expires_at=expires_at
    )


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
