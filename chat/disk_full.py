"""Recognises a full disk among the errors of files and databases."""

from __future__ import annotations

import errno

from django.db import DatabaseError

_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
# In the messages of SQLite and PostgreSQL.
_SIGNS = ("disk is full", "no space left")


def is_disk_full(error: BaseException | None) -> bool:
    """Return whether an error, or one that caused it, says that there is no room on the disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        if isinstance(error, DatabaseError) and any(sign in str(error).lower() for sign in _SIGNS):
            return True
        error = error.__cause__
    return False
