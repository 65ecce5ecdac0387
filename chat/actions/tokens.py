"""API tokens: the keys with which an owner's programs come in."""

from __future__ import annotations

import base64
import logging
import secrets
from datetime import timedelta
from typing import Any

from django.db import OperationalError, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from chat.models import ApiToken

from .messages import Refused
from .owners import hold_memory

logger = logging.getLogger(__name__)

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
        _keep(owner, name, secret)
    return secret


def own_token(owner: Any, name: str) -> str:
    """Return the secret of a token that programs of this installation share, made where there is none.

    It follows from the installation's secret key, so that it need be written down nowhere. Once revoked it
    stays so: raises Refused then, and where another token has the name or there are `MOST` already.
    """
    derived = salted_hmac("chat.actions.tokens.own_token", f"{owner.pk} {name}", algorithm="sha256").digest()
    secret = f"mem_{base64.urlsafe_b64encode(derived).rstrip(b'=').decode()}"
    with transaction.atomic():
        hold_memory(owner.pk)
        known = ApiToken.objects.for_owner(owner).filter(digest=ApiToken.digest_of(secret)).first()
        if known is None:
            _keep(owner, name, secret)
        elif known.revoked_at is not None:
            raise Refused(_("The token “%(name)s” was revoked in the settings.") % {"name": name})
    return secret


def _keep(owner: Any, name: str, secret: str) -> None:
    standing = list(ApiToken.objects.for_owner(owner).standing().values_list("name", flat=True))
    if name in standing:
        raise Refused(_("There is a token with this name already."))
    if len(standing) >= MOST:
        raise Refused(_("There are %(most)d tokens, and that is the most.") % {"most": MOST})
    ApiToken.objects.create(owner=owner, name=name, digest=ApiToken.digest_of(secret))


def revoke_token(token: ApiToken) -> None:
    """Close the door to a token for good."""
    ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=timezone.now())


def note_use(token: ApiToken) -> None:
    """Remember that a token was used, at most once a minute: reading must not write each time.

    Nor must it fail because another program holds the database: then it is remembered with the next use.
    """
    now = timezone.now()
    if token.last_used_at is not None and now - token.last_used_at < _NOTED_EVERY:
        return
    try:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    except OperationalError:
        logger.warning("the use of a token could not be noted", exc_info=True)
