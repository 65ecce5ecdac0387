"""Creates a token as they were before there were scopes."""

from __future__ import annotations

from chat.actions.api_tokens import create_token
from chat.models import FULL, ApiToken, User


def create_full_token(owner: User, name: str) -> str:
    """Create a token that allows whatever a token can allow, and return its secret."""
    secret = create_token(owner, name)
    ApiToken.objects.filter(digest=ApiToken.digest_of(secret)).update(scopes=[FULL])
    return secret
