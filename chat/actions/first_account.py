"""The first admin account of server mode: by a link that works once, or by `manage.py createowner`."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from hmac import compare_digest

from django.contrib.auth.hashers import is_password_usable
from django.db import transaction
from django.utils import timezone

from chat.errors import Refused
from chat.models import (
    AdminActKind,
    Conversation,
    Fact,
    FirstLink,
    User,
    active_admins,
    digest_of,
)

from .owners import LOCAL_NAME, set_up_owner
from .people import create_user, lock_accounts, record_act


@dataclass(frozen=True, slots=True)
class LocalData:
    """What the account of local mode holds, in numbers."""

    conversations: int
    memories: int


def is_first_account_missing() -> bool:
    """Return whether there is no active admin who can log in."""
    return not active_admins().exists()


def make_first_link() -> str:
    """Return the secret of a new link for the first admin account; the former link stops working.

    Only the hash of the secret is stored. Raises Refused where an admin can log in.
    """
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        _lock_first_account()
        FirstLink.objects.filter(pk=FirstLink.KEY).update(digest=digest_of(secret), created_at=timezone.now())
    return secret


def is_first_link_valid(secret: str) -> bool:
    """Return whether this is the secret of the newest link, and no admin can log in yet."""
    link = FirstLink.objects.filter(pk=FirstLink.KEY).exclude(digest="").first()
    return link is not None and compare_digest(link.digest, digest_of(secret)) and is_first_account_missing()


def find_local_data() -> LocalData | None:
    """Return what the account of local mode holds; None where it is empty or somebody can log in with it."""
    local = _local_account()
    if local is None:
        return None
    found = LocalData(
        Conversation.objects.for_owner(local).not_deleted().count(),
        Fact.objects.for_owner(local).live().count(),
    )
    return found if found.conversations or found.memories else None


def create_first_admin(name: str, hashed_password: str, *, adopt: bool, secret: str | None = None) -> User:
    """Create the first admin account; return it.

    With `adopt`, and where the account of local mode is empty, that account gets the name and the password:
    all rows keep their owner. With a `secret` the link with it is used up. Of two calls at once one succeeds.
    Raises Refused where an admin can log in, the link is not valid, or the name is taken.
    """
    with transaction.atomic():
        _lock_first_account()
        if secret is not None and not is_first_link_valid(secret):
            raise Refused("first-link-invalid")
        local = _local_account()
        if local is not None and (adopt or find_local_data() is None):
            user = _adopt(local, name, hashed_password)
        elif adopt:
            raise Refused("nothing-to-adopt")
        else:
            user = create_user(name, hashed_password, is_admin=True)
        FirstLink.objects.filter(pk=FirstLink.KEY).update(digest="")
        record_act(user, AdminActKind.FIRST)
    return user


def _lock_first_account() -> None:
    """Let one call at a time decide about the first account. Raises Refused where an admin can log in."""
    lock_accounts()
    if not is_first_account_missing():
        raise Refused("admin-exists")


def _local_account() -> User | None:
    """Return the account of local mode, as long as nobody can log in with it."""
    local = User.objects.filter(username=LOCAL_NAME).first()
    usable = local is not None and is_password_usable(local.password)
    return None if local is None or usable or local.last_login is not None else local


def _adopt(local: User, name: str, hashed_password: str) -> User:
    if User.objects.filter(username__iexact=name).exclude(pk=local.pk).exists():
        raise Refused("account-name-taken")
    local.username, local.password = name, hashed_password
    local.is_active = local.is_staff = local.is_superuser = True
    local.save()
    set_up_owner(local)
    return local
