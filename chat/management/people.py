"""Of whom a command speaks."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from chat.actions.owners import local_owner
from memoryapp.middleware import is_local


def owner_named(name: str) -> Any:
    """Return the user of this name; without one the machine's owner, who is none where people log in."""
    if not name:
        if is_local():
            return local_owner()
        raise CommandError("Say whose with --owner NAME: several people log in here.")
    found = get_user_model().objects.filter(username=name).first()
    if found is None:
        raise CommandError(f"There is no user named {name}.")
    return found
