"""Carries over what was forgotten and revoked since a backup was made, when it is restored in place.

Whoever restores a backup wants the chats back, and not what they have forgotten meanwhile, and no token that
they have revoked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.utils.dateparse import parse_datetime

from chat.actions import purge
from chat.actions.owners import lock_memory
from chat.actions.tombstones import add_tombstones, hash_facts
from chat.models import FULL, ApiToken, Fact, User
from memoryapp.base.secret_key import read_key
from memoryapp.base.sqlcipher import DATABASE_ERRORS, open_database


@dataclass(slots=True)
class CarriedOver:
    """How many memories of the backup were forgotten since, and how many of its tokens were revoked."""

    forgotten: int = 0
    revoked: int = 0


def carry_over(former: Sequence[Path]) -> CarriedOver:
    """Apply what the former database has forgotten and revoked to the restored one.

    `former` are the files that `restore` has put aside: the database, and the key. All logins end, tokens
    keep what they have lost since, and deactivated accounts stay so; passwords are those of the backup.
    Digests of what was forgotten are made with the key and the owner's id, so none are carried over from one
    with another key or other accounts. Repeating it changes nothing. The caller holds the engine's lock.
    """
    carried = CarriedOver()
    # The backup contains login sessions that may have been ended since.
    Session.objects.all().delete()
    database = next((path for path in former if path.suffix == ".sqlite3" and path.exists()), None)
    key = next((path for path in former if path.suffix != ".sqlite3" and path.exists()), None)
    if database is None:
        return carried
    try:
        with closing(open_database(database, read_only=True)) as opened:
            forgotten = opened.execute(
                "SELECT owner_id, username, digest, pressed_at FROM chat_tombstone JOIN auth_user "
                "ON auth_user.id = owner_id"
            ).fetchall()
            tokens = opened.execute(
                "SELECT digest, revoked_at, scopes, expires_at FROM chat_apitoken"
            ).fetchall()
            inactive = opened.execute("SELECT id, username FROM auth_user WHERE is_active = 0").fetchall()
    except DATABASE_ERRORS:
        # Damaged, or from before there were such tables.
        return carried
    for token in tokens:
        carried.revoked += _limit_token(*token)
    for owner_id, username in inactive:
        User.objects.filter(pk=owner_id, username=username).update(is_active=False)
    if key is not None and not _is_key_in_effect(key):
        return carried
    by_owner: dict[tuple[int, str], dict[str, datetime]] = {}
    for owner_id, username, digest, when in forgotten:
        by_owner.setdefault((owner_id, username), {})[digest] = _parse(when)
    for (owner_id, username), digests in by_owner.items():
        if owner := User.objects.filter(pk=owner_id, username=username).first():
            carried.forgotten += _forget_again(owner, digests)
    return carried


def _limit_token(digest: str, revoked_at: str | None, scopes: str, expires_at: str | None) -> int:
    """Take from a restored token what it has lost since; return how many tokens were revoked, 0 or 1."""
    token = ApiToken.objects.filter(digest=digest, revoked_at=None).first()
    if token is None:
        return 0
    now = json.loads(scopes)
    if FULL not in now:
        token.scopes = [scope for scope in now if token.allows([scope])]
    ends = [end for end in (token.expires_at, _parse(expires_at) if expires_at else None) if end]
    token.expires_at = min(ends, default=None)
    token.revoked_at = _parse(revoked_at) if revoked_at else None
    token.save(update_fields=["scopes", "expires_at", "revoked_at"])
    return int(revoked_at is not None)


def _is_key_in_effect(former: Path) -> bool:
    """Return whether the former database was used with the present key; SECRET_KEY replaces both files."""
    return bool(os.environ.get("SECRET_KEY")) or former.read_text() == read_key(Path(settings.DATA_DIR))


def _forget_again(owner: User, digests: dict[str, datetime]) -> int:
    """Store the tombstones, and remove the facts that were known before they were forgotten."""
    with transaction.atomic():
        lock_memory(owner.pk)
        for pressed_at in set(digests.values()):
            add_tombstones(owner, {d for d, when in digests.items() if when == pressed_at}, pressed_at)
        barred = set()
        for fact in Fact.objects.for_owner(owner):
            mine = hash_facts(owner, Fact.objects.filter(pk=fact.pk)) & digests.keys()
            if any(digests[digest] >= fact.last_seen for digest in mine):
                barred.add(fact.pk)
        purge.purge_facts(owner, barred)
    return len(barred)


def _parse(stored: str) -> datetime:
    found = parse_datetime(stored)
    if found is None:
        raise ValueError(stored)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
