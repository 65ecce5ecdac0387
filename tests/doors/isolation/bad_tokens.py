"""Tokens that are valid no more, each for another reason."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from chat.actions.api_tokens import create_token, revoke_token
from chat.models import ApiToken, User

REASONS = ("revoked", "ended", "unknown", "of an inactive user")


def make_bad_token(owner: Any, reason: str) -> str:
    """Create a token of the owner that is refused for this reason; return its secret."""
    secret = create_token(owner, reason)
    token = ApiToken.objects.get(digest=ApiToken.digest_of(secret))
    if reason == "revoked":
        revoke_token(token)
    elif reason == "ended":
        ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now())
    elif reason == "unknown":
        token.delete()
    else:
        User.objects.filter(pk=owner.pk).update(is_active=False)
    return secret
